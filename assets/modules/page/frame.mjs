/**
 * The page's frame, once Dash has rendered it: the edges of its panes, and the ways between its parts without a mouse. And
 * one watcher of Dash's requests: for one that fails, or is answered by another version of the page, Dash has no hook.
 */
import { releaseProperties } from "../browser/properties.mjs";
import { watchClicks } from "../controls/listening.mjs";
import { watchReply } from "../requests/page-request.mjs";
import { buildHeaders, fetchInSession } from "../requests/session.mjs";
import { _ } from "../words/words.mjs";
import { findProblemLine, sendFromDialog } from "./callbacks.mjs";
import { followRequest } from "./long-request.mjs";
import { describePanes, isNarrow, showPane, storePane, togglePane } from "./panes.mjs";
import { IMPORT } from "./upload.mjs";

const DASH = "_dash-";
const CALLBACKS = "_dash-update-component";
const makeEmptyReply = () => new Response(null, { status: 204 });
const ERASURE = { title: _("Erasure"), dialog: "#person-erasure", cancel: "#person-erasure-cancel" };
/** @type {[RegExp, import("./long-request.mjs").Subject][]} long requests, by what triggers them in the body of Dash's */
const LONG = [
  [/"changedPropIds":\["(?:import-file\.data|import-confirm\.n_clicks|import-merge\.n_clicks)"/, IMPORT],
  [/"changedPropIds":\["person-erasure-erase\.n_clicks"/, ERASURE],
];

/**
 * Dash's hooks before its requests (components/page.py): give them the headers of the page. Dash merges those of its store
 * into each request.
 */
export function authorizeDash() {
  Object.assign(window.dash_stores[0].getState().config.fetch.headers, buildHeaders());
}

export function watchRequests() {
  const originalFetch = window.fetch;
  window.fetch = (address, options) => {
    if (!String(address).includes(DASH)) return originalFetch(address, options);
    const send = (headers) =>
      fetchInSession(() => originalFetch(address, { ...options, headers: { ...options?.headers, ...headers } }));
    if (!String(address).includes(CALLBACKS)) return send({});
    const [line, body] = [findProblemLine(), String(options?.body)];
    const [, subject] = LONG.find(([trigger]) => trigger.test(body)) ?? [];
    const sendLong = () => (subject ? followRequest(subject, send) : send({}));
    // The dialog says that a reply is lost. Dash undoes `running` only with a reply.
    if (line !== undefined)
      return watchReply(() => sendFromDialog(line, body, sendLong), { isShown: () => true }).catch(makeEmptyReply);
    return watchReply(sendLong);
  };
}

const STEP_REM = 1;
/** The same limits and first widths as in shell.css. A key to the right makes the first pane wider, and History narrower. */
const PANES = {
  threads: { min: 12, max: 24, first: 16, direction: 1 },
  history: { min: 16, max: 40, first: 22, direction: -1 },
};

const getRem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
const findPane = (edge) => /** @type {HTMLElement} */ (document.querySelector(`.pane-${edge.dataset.pane}`));
const measureWidth = (edge) => findPane(edge).getBoundingClientRect().width / getRem();

/** Set the width of a pane within its limits. @param {HTMLElement} edge @param {number} rems */
function setWidth(edge, rems) {
  const { pane } = edge.dataset;
  const width = Math.min(PANES[pane].max, Math.max(PANES[pane].min, Math.round(rems * 16) / 16));
  document.documentElement.style.setProperty(`--${pane}-width`, `${width}rem`);
  describeWidth(edge);
  return width;
}

/** Say the width as it is: the window limits it, too. */
function describeWidth(edge) {
  const { min, max } = PANES[edge.dataset.pane];
  const rem = getRem();
  const values = { valuenow: measureWidth(edge) * rem, valuemin: min * rem, valuemax: max * rem };
  for (const [name, value] of Object.entries(values)) edge.setAttribute(`aria-${name}`, Math.round(value));
}

function dragEdge(down) {
  const edge = down.currentTarget;
  if (down.button !== 0) return;
  down.preventDefault(); // else the text would be selected
  edge.setPointerCapture(down.pointerId);
  const { direction } = PANES[edge.dataset.pane];
  const first = measureWidth(edge);
  let width = first;
  const onMove = ({ clientX }) => (width = setWidth(edge, first + ((clientX - down.clientX) * direction) / getRem()));
  edge.addEventListener("pointermove", onMove);
  const end = () => {
    edge.removeEventListener("pointermove", onMove);
    if (width !== first) storePane(edge.dataset.pane, { width });
  };
  edge.addEventListener("lostpointercapture", end, { once: true });
}

function moveEdge(event) {
  const edge = event.currentTarget;
  const { pane } = edge.dataset;
  const { min, max, direction } = PANES[pane];
  const width = measureWidth(edge);
  const step = STEP_REM * direction;
  const next = { ArrowRight: width + step, ArrowLeft: width - step, Home: min, End: max }[event.key];
  if (next === undefined && event.key !== "Enter") return;
  event.preventDefault();
  if (event.key === "Enter") togglePane(pane);
  else storePane(pane, { width: setWidth(edge, next) });
}

function watchPaneEdges() {
  for (const edge of document.querySelectorAll(".pane-edge")) {
    const pane = /** @type {"threads"|"history"} */ (edge.dataset.pane);
    describeWidth(edge);
    edge.addEventListener("pointerdown", dragEdge);
    edge.addEventListener("keydown", moveEdge);
    edge.addEventListener("focus", () => describeWidth(edge));
    edge.addEventListener("dblclick", () => storePane(pane, { width: setWidth(edge, PANES[pane].first) }));
  }
}

const FOCUSABLE = 'button:not([disabled]), a[href], input:not([hidden]), textarea, [tabindex="0"]:not([role="separator"])';
const FIELD = ".message-field textarea";
/** Each part with the element that gets the focus first. */
const REGIONS = {
  topbar: [".topbar", "#open-palette"],
  threads: [".pane-threads", ".thread-current a"],
  chat: [".pane-chat", FIELD],
  history: [".pane-history", '.place-jump[tabindex="0"]'],
};
const LINKS = {
  composer: () => document.querySelector(FIELD),
  chat: () => document.querySelector(".log") ?? document.querySelector(FIELD),
  history: () => findTarget("history"),
};

const lastFocused = new Map();
const isShown = (element) => Boolean(element?.checkVisibility({ visibilityProperty: true })) && !element.closest("[inert]");
const findRegion = (name) => document.querySelector(REGIONS[name][0]);

function findTarget(name) {
  const [region, first] = [findRegion(name), REGIONS[name][1]];
  const candidates = [lastFocused.get(name), ...region.querySelectorAll(first), ...region.querySelectorAll(FOCUSABLE)];
  return candidates.find((element) => isShown(element) && region.contains(element)) ?? null;
}

/** Focus the next part that is shown. @param {1|-1} step */
function focusNextRegion(step) {
  const names = Object.keys(REGIONS).filter((name) => isShown(findRegion(name)));
  const current = names.findIndex((name) => findRegion(name).contains(document.activeElement));
  const start = current < 0 && step < 0 ? 0 : current;
  findTarget(names[(start + step + names.length) % names.length])?.focus();
}

function watchRegions() {
  document.addEventListener("focusin", ({ target }) => {
    const name = Object.keys(REGIONS).find((each) => findRegion(each).contains(target));
    if (name) lastFocused.set(name, target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "F6" || event.ctrlKey || event.altKey || event.metaKey || document.querySelector(".modal.show"))
      return;
    event.preventDefault();
    focusNextRegion(event.shiftKey ? -1 : 1);
  });
  watchClicks(".skip-links [data-region]", ({ dataset: { region } }, event) => {
    event.preventDefault(); // the address names the conversation alone
    if (region === "history") showPane("history");
    if (region !== "history" || !isNarrow()) LINKS[String(region)]()?.focus(); // a sheet takes the focus itself
  });
}

/** Clientside callback: called once, when the frame is there. */
export function watchFrame() {
  document.querySelector(".empty-frame")?.remove();
  watchPaneEdges();
  watchRegions();
  releaseProperties();
  describePanes();
  return window.dash_clientside.no_update;
}
