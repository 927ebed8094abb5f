/** The bar that finds in the whole conversation: the server finds the messages, and the page marks their words. */
import { buildThreadApi } from "../browser/addresses.mjs";
import { iconButton } from "../controls/buttons.mjs";
import { useListener } from "../controls/listening.mjs";
import { useHits } from "../requests/shown-content.mjs";
import { getChosenThread } from "../state/chosen-thread.mjs";
import { showMessage } from "../state/show-message.mjs";
import { formatNumber } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { FoundMarks } from "./find-marks.mjs";
import { findMessage, keepInView } from "./scroll-to-message.mjs";

const { createElement: h, useCallback, useEffect, useLayoutEffect, useRef, useState } = window.React;

const { flushSync } = window.ReactDOM;

const isKey = (event, letter) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === letter;
const isFindKey = (event) => isKey(event, "f") && !event.shiftKey && !event.altKey;
const isCovered = () => document.querySelector(".modal.show") !== null;

/**
 * Open and close the bar. A second Ctrl+F, in the bar's field, is the browser's.
 * @param {{earlier: boolean, later: boolean}} data
 * @returns {{isOpen: boolean, open: () => void, close: () => void}} `close` gives the focus back to where it was
 */
export function useFinding({ earlier, later }) {
  const [isOpen, setOpen] = useState(false);
  const focused = useRef(null);
  const open = () => {
    /** @type {HTMLInputElement|null} */
    const field = document.querySelector(".find-field");
    if (field !== null) return field.select();
    focused.current = document.activeElement;
    return flushSync(() => setOpen(true));
  };
  const close = () => {
    setOpen(false);
    if (focused.current?.isConnected) focused.current.focus({ preventScroll: true });
  };
  useListener(document, "keydown", (event) => {
    const isNeeded = isOpen || earlier || later;
    if (!isFindKey(event) || !isNeeded || isCovered() || event.target.matches?.(".find-field")) return;
    event.preventDefault();
    open();
  });
  return { isOpen, open, close };
}

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
  const address = text.trim() === "" ? null : buildThreadApi(thread, "find", { q: text });
  const { found, isSlow, searchAgain } = useHits(address, version);
  const { position, step } = useFoundPlace(thread, found ?? NOTHING, text);
  useLayoutEffect(() => field.current.focus({ preventScroll: true }), []);
  useListener(document, "keydown", (event) => {
    // Wherever the focus is.
    if (event.key !== "F3" && !isKey(event, "g")) return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  });
  const onKeyDown = (event) => {
    if (event.key !== "Escape" && (event.key !== "Enter" || event.target !== field.current)) return;
    event.preventDefault(); // Escape would stop the answer or close a sheet
    event.stopPropagation();
    if (event.key === "Escape") onClose();
    else if (found?.failed) searchAgain();
    else step(event.shiftKey ? -1 : 1);
  };
  return h(
    "div",
    { role: "search", className: "find-bar", onKeyDown },
    h("input", {
      ref: field, type: "text", className: "form-control find-field", "aria-label": FIELD_NAME, placeholder: FIELD_NAME,
      autoComplete: "off", value: text, onChange: (event) => setText(event.target.value),
    }),
    h("span", { className: "find-state", role: "status" },
      isSlow ? _("Searching…") : found && describeState(found, position),
    ),
    iconButton("arrow-up", _("Previous match (Shift+Enter)"), () => step(-1)),
    iconButton("arrow-down", _("Next match (Enter)"), () => step(1)),
    iconButton("x-lg", _("Close (Escape)"), onClose),
  );
}

/** @param {Found} found */
function describeState({ hits, more, pending, term, failed }, position) {
  if (failed) return _("The search did not answer.");
  if (term === null) return "";
  if (hits.length === 0) return pending ? _("Older messages are being indexed.") : _("Nothing found");
  return _("{position} of {total}", {
    position: formatNumber(position + 1),
    total: `${formatNumber(hits.length)}${more ? "+" : ""}`,
  });
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
    state.current.marks.search(found.term ?? null);
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
