/** Toasts of the page itself. Those of the server come from components/panels/toast.py. */
import { readThread } from "../browser/addresses.mjs";
import { getProperties, setProperties } from "../browser/properties.mjs";
import { _ } from "../words/words.mjs";
import { watchClicks } from "./listening.mjs";

const LOOK_AGAIN_MS = 2000;
const HIDDEN = { display: "none" };
const MEASURED = { ".composer": "--composer-height", ".toasts": "--toast-height" };
/** @type {(() => void)|null} what “Try again” does */
let onRetry = null;

/**
 * @param {string} text one plain sentence
 * @param {(() => void)|null} [retry] what “Try again” does; null: there is no such button
 * @param {string} [label] of that button, where it does something else
 */
export function showToast(text, retry = null, label = _("Try again")) {
  showUpdateToast({ toast: { text, undo: null } }, retry, label);
}

/**
 * Show a toast that can wait, in a moment: not while nobody looks, and in no other toast's place.
 * @param {Parameters<typeof showToast>} given
 */
export function showToastWhenFree(...given) {
  const isOtherShown = () => document.documentElement.hasAttribute("data-toast");
  const show = () => (document.hidden || isOtherShown() ? wait() : showToast(...given));
  const wait = () => setTimeout(show, LOOK_AGAIN_MS);
  wait();
}

/**
 * Show the toast of a page update; also a clientside callback, for the updates of Dash's own callbacks.
 * @param {{go?: string, toast?: {text: string, undo: {thread: string, version: number}|null}}|undefined} update
 * @param {(() => void)|null} [retry] @param {string} [label]
 */
export function showUpdateToast(update, retry = null, label = "") {
  if (update?.go && readThread(update.go) === getProperties("toast-where")?.data?.thread) hideToast(); // it is back
  if (!update?.toast) return;
  onRetry = typeof retry === "function" ? retry : null;
  const { text, undo } = update.toast;
  setProperties({
    "toast-text": { children: text },
    "toast-undo": { style: undo ? {} : HIDDEN },
    "toast-retry": { style: onRetry ? {} : HIDDEN, children: label },
    ...(undo && { "toast-where": { data: undo } }),
    toast: { is_open: true },
  });
}

const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => writeHeight(target)));

/** Tell style sheets how high the message field or the toast is: on a narrow screen, nothing may be under a toast. */
function writeHeight(element) {
  const [, name] = Object.entries(MEASURED).find(([selector]) => element.matches(selector)) ?? ["", ""];
  document.documentElement.style.setProperty(name, `${element.offsetHeight}px`);
}

/** Show the toast of a reply at once: where the page is updated again within a moment, Dash sees the later update alone. */
export function showToastOf(reply) {
  if (!reply.head?.data.toast) return reply;
  const { toast, ...update } = reply.head.data;
  showUpdateToast({ toast });
  return { ...reply, head: { data: update } };
}

/** Clientside callback: tell style sheets that a toast is shown. With `:has()` they would look again at each change. */
export function markToast(isShown) {
  document.documentElement.toggleAttribute("data-toast", Boolean(isShown));
  sizes.disconnect(); // the height stays, so that a toast that fades does not move
  const measured = document.querySelectorAll(Object.keys(MEASURED).join());
  if (isShown) measured.forEach((element) => sizes.observe(element));
}

const hideToast = () => setProperties({ toast: { is_open: false } });

/**
 * Hide the toast where it says one of these texts, which are no longer true.
 * @param {(() => void)|null} retry what it offers @param {string[]} texts
 */
export function hideToastSaying(retry, ...texts) {
  if (onRetry === retry && texts.includes(getProperties("toast-text")?.children)) hideToast();
}

/** Let the toast's buttons work; “Try again” works once. */
export function watchToast() {
  watchClicks("#toast-close", hideToast);
  watchClicks("#toast-retry", () => {
    const retry = onRetry;
    onRetry = null;
    hideToast();
    retry?.();
  });
}
