/** The bar that finds in the whole conversation: the server finds the messages, and the page marks their words. */
import { buildThreadApi } from "../browser/addresses.mjs";
import { useNetworkReturn } from "../browser/online.mjs";
import { icon } from "../controls/icons.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { getChosenThread } from "../state/chosen-thread.mjs";
import { showMessage } from "../state/show-message.mjs";
import { formatNumber } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { FoundMarks } from "./find-marks.mjs";
import { keepInView } from "./scroll-to-message.mjs";

const { createElement: h, useCallback, useEffect, useLayoutEffect, useRef, useState } = window.React;

const { flushSync } = window.ReactDOM;

const isFindKey = (event) =>
  (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "f";
const isCovered = () => document.querySelector(".modal.show") !== null;

/**
 * Open and close the bar. A second Ctrl+F, in the bar's field, is the browser's.
 * @param {{earlier: boolean, later: boolean}} data
 * @returns {{isOpen: boolean, open: () => void, close: () => void}} `close` gives the focus back to where it was
 */
export function useFinding({ earlier, later }) {
  const [isOpen, setOpen] = useState(false);
  const focused = useRef(null);
  const isNeeded = useRef(false);
  isNeeded.current = isOpen || earlier || later;
  const open = useCallback(() => {
    /** @type {HTMLInputElement|null} */
    const field = document.querySelector(".find-field");
    if (field !== null) return field.select();
    focused.current = document.activeElement;
    return flushSync(() => setOpen(true));
  }, []);
  const close = useCallback(() => {
    setOpen(false);
    if (focused.current?.isConnected) focused.current.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    const onKeyDown = (event) => {
      if (!isFindKey(event) || !isNeeded.current || isCovered() || event.target.matches?.(".find-field")) return;
      event.preventDefault();
      open();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [open]);
  return { isOpen, open, close };
}

const TYPING_PAUSE_MS = 150;
const SLOW_AFTER_MS = 600; // until the bar says that it searches
const INDEXING_PAUSE_MS = 1500; // until a search is repeated while messages are being indexed
const NOTHING = { hits: [], more: false, pending: false, term: null };
const FIELD_NAME = _("Find in this conversation");

/**
 * @typedef {{hits: string[], more: boolean, pending: boolean, term: import("./find-marks.mjs").Term|null, failed?:
 *   boolean}} Found
 */

/** @param {{thread: string, version: number, onClose: () => void}} props */
export function FindBar({ thread, version, onClose }) {
  const field = useRef(null);
  const [text, setText] = useState("");
  const { found, isSlow, searchAgain } = usePathHits(thread, text, version);
  const place = useFoundPlace(thread, found, text);
  useLayoutEffect(() => field.current.focus({ preventScroll: true }), []);
  useStepKeys(place.step);
  const onKeyDown = (event) => {
    if (!["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault(); // Escape would stop the answer or close a sheet
    event.stopPropagation();
    if (event.key === "Escape") onClose();
    else if (found.failed) searchAgain();
    else place.step(event.shiftKey ? -1 : 1);
  };
  const button = (label, sign, onClick) =>
    h("button", { type: "button", className: "icon-button", "aria-label": label, title: label, onClick }, icon(sign));
  return h(
    "div",
    { role: "search", className: "find-bar", onKeyDown: (event) => event.key === "Escape" && onKeyDown(event) },
    h("input", {
      ref: field,
      type: "text",
      className: "form-control find-field",
      "aria-label": FIELD_NAME,
      placeholder: FIELD_NAME,
      autoComplete: "off",
      value: text,
      onChange: (event) => setText(event.target.value),
      onKeyDown,
    }),
    h("span", { className: "find-state", role: "status" },
      isSlow ? _("Searching…") : describeState(found, text, place.position),
    ),
    button(_("Previous match (Shift+Enter)"), "arrow-up", () => place.step(-1)),
    button(_("Next match (Enter)"), "arrow-down", () => place.step(1)),
    button(_("Close (Escape)"), "x-lg", onClose),
  );
}

/** @param {Found} found */
function describeState({ hits, more, pending, term, failed }, text, position) {
  if (failed) return _("The search did not answer.");
  if (text.trim() === "" || term === null) return "";
  if (hits.length === 0) return pending ? _("Older messages are being indexed.") : _("Nothing found");
  return _("{position} of {total}", {
    position: formatNumber(position + 1),
    total: `${formatNumber(hits.length)}${more ? "+" : ""}`,
  });
}

/**
 * Find the messages while the user types, again after each change of the conversation, and when the network is back.
 * @returns {{found: Found, isSlow: boolean, searchAgain: () => void}}
 */
function usePathHits(thread, text, version) {
  const [found, setFound] = useState(NOTHING);
  const [isSlow, setSlow] = useState(false);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    setSlow(false);
    if (text.trim() === "") return setFound(NOTHING);
    const controller = new AbortController();
    const search = async () => {
      const reply = await fetchPathHits(thread, text, controller.signal);
      if (controller.signal.aborted) return;
      clearTimeout(slow);
      setSlow(false);
      setFound(reply);
      if (reply.pending) timer = setTimeout(search, INDEXING_PAUSE_MS);
    };
    const slow = setTimeout(setSlow, SLOW_AFTER_MS, true);
    let timer = setTimeout(search, TYPING_PAUSE_MS);
    return () => (clearTimeout(timer), clearTimeout(slow), controller.abort());
  }, [thread, text, version, attempt]);
  const searchAgain = () => setAttempt((number) => number + 1);
  useNetworkReturn(Boolean(found.failed), searchAgain);
  return { found, isSlow, searchAgain };
}

async function fetchPathHits(thread, text, signal) {
  try {
    const reply = await fetchAsPage(buildThreadApi(thread, "find", { q: text }), {
      signal,
    });
    if (reply.ok) return await reply.json();
  } catch {
    if (signal.aborted) return NOTHING;
  }
  return { ...NOTHING, failed: true };
}

/**
 * The place among the hits: a message, and a match in it. A new text begins at the first hit in view, else at the last one.
 * @param {Found} found
 * @returns {{position: number, step: (by: 1|-1) => void}}
 */
function useFoundPlace(thread, found, text) {
  const [id, setId] = useState(null);
  const state = useRef({ marks: null, wanted: null, current: null, text: null });
  const position = found.hits.indexOf(id);
  const go = useCallback((message, by) => {
    setId(message);
    state.current.wanted = { message, by };
    if (getChosenThread().thread === thread) showMessage(thread, message); // else the person has gone on meanwhile
    showWanted(state.current);
  }, [thread]);
  useEffect(() => {
    const marks = new FoundMarks(findLog(), () => showWanted(state.current));
    state.current.marks = marks;
    return () => marks.end();
  }, []);
  useEffect(() => {
    const isSame = state.current.text === text && found.hits.includes(id);
    state.current.text = text;
    if (isSame) return; // the conversation has changed elsewhere
    state.current.marks.search(found.term);
    if (found.hits.length > 0) go(found.hits.find(isInView) ?? found.hits.at(-1), 1);
  }, [found, go]);
  const step = (by) => {
    const { hits } = found;
    if (hits.length === 0 || stepWithin(state.current, id, by)) return;
    go(hits[(Math.max(position, 0) + by + hits.length) % hits.length], by);
  };
  return { position, step };
}

const findLog = () => /** @type {HTMLElement} */ (document.querySelector("#transcript .log"));
const findMessage = (id) => document.querySelector(`#transcript [data-message-id="${CSS.escape(id)}"]`);
const isInView = (id) => (findMessage(id)?.getBoundingClientRect().bottom ?? -1) > findLog().getBoundingClientRect().top;

/** Show the first match of the wanted message, or the last one on the way back, as soon as the page has the message. */
function showWanted(state) {
  const element = state.wanted && findMessage(state.wanted.message);
  if (!element) return;
  const ranges = state.marks.list(element);
  const range = ranges.at(state.wanted.by > 0 ? 0 : -1);
  state.wanted = null;
  if (range) showRange(state, range);
}

/** @returns {boolean} whether the message has another match in this direction, which is shown then */
function stepWithin(state, id, by) {
  const element = id && findMessage(id);
  if (!element || !state.current?.startContainer.isConnected) return false;
  // The current range may be older than the element's text, so that it is none of these.
  const isOnward = (range) => range.compareBoundaryPoints(Range.START_TO_START, state.current) === by;
  const ranges = state.marks.list(element).filter(isOnward);
  const next = by > 0 ? ranges[0] : ranges.at(-1);
  if (next) showRange(state, next);
  return Boolean(next);
}

function showRange(state, range) {
  state.current = range;
  state.marks.select(range);
  const { parentElement } = range.startContainer;
  for (let fold = parentElement.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  keepInView(() => bringRangeIntoView(range), parentElement.closest(".log-column"));
}

/** Scroll the range to the upper half of the conversation, and into view of what scrolls within that. */
function bringRangeIntoView(range) {
  const log = findLog();
  for (let part = range.startContainer.parentElement; part && part !== log; part = part.parentElement) {
    if (part.scrollHeight <= part.clientHeight && part.scrollWidth <= part.clientWidth) continue;
    const [box, view] = [range.getBoundingClientRect(), part.getBoundingClientRect()];
    if (box.bottom > view.bottom || box.top < view.top) part.scrollTop += box.top - view.top - part.clientHeight / 3;
    if (box.right > view.right || box.left < view.left) part.scrollLeft += box.left - view.left - part.clientWidth / 3;
  }
  if (range.startContainer.isConnected)
    log.scrollTop += range.getBoundingClientRect().top - log.getBoundingClientRect().top - log.clientHeight / 3;
}

/** F3 and Ctrl+G step wherever the focus is. */
function useStepKeys(step) {
  const latest = useRef(step);
  latest.current = step;
  useEffect(() => {
    const onKeyDown = (event) => {
      const isStep = event.key === "F3" || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "g");
      if (!isStep) return;
      event.preventDefault();
      latest.current(event.shiftKey ? -1 : 1);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
