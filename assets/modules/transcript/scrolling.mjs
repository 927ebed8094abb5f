/** Scroll the transcript: at the end unless the reader went up, and unmoved when earlier messages are added above. */
import { useListener } from "../controls/listening.mjs";
import { isFocusUnclaimed } from "../page/lost-focus.mjs";
import { closeSheets } from "../page/panes.mjs";
import { useMoves } from "../state/moves.mjs";
import { noticeRunEnd, removeSeenNotice } from "../state/notices.mjs";
import { _ } from "../words/words.mjs";
import { findMessage } from "./scroll-to-message.mjs";

const { useEffect, useLayoutEffect, useRef, useState } = window.React;

const SPOKEN_STATES = {
  stopped: _("Answer stopped"),
  failed: _("Answer failed"),
  interrupted: _("This answer was cut off"),
  waiting: _("The answer waits for your approval or reply"),
};
const SPOKEN_MOVES = { undo: _("The last change was undone"), redo: _("The change was made again") };

/** @returns {string|null} the state of the run. The data has none of one that waits, and a missed end is told by the data */
const nameState = (run, isWaiting) =>
  run === null ? (isWaiting ? "waiting" : null) : run.state === "unknown" ? "running" : run.state;

/**
 * Announce to a screen reader that an answer began, ended or waits, but never its text. When it ends while the page is
 * hidden, give notice, and take it back when the conversation is seen.
 */
export function useRunNotices(run, { is_waiting: isWaiting, title }, thread, announce) {
  const before = useRef(null);
  const state = nameState(run, isWaiting);
  useEffect(() => {
    const hasEnded = before.current === "running" && state !== "running";
    before.current = state;
    if (state === "running") announce(_("Answering…"));
    if (!hasEnded) return;
    announce(SPOKEN_STATES[state] ?? _("Answer finished"));
    if (thread !== null) noticeRunEnd({ thread, title, isWaiting: state === "waiting", isOpen: true });
  }, [state]);
  useEffect(() => removeSeenNotice(thread), [thread]);
  useListener(document, "visibilitychange", () => removeSeenNotice(thread));
}

/** Announce an undo or a redo once it is shown. Two in turn are told twice: between them nothing is told. */
export function useSpokenUndo(announce) {
  const text = SPOKEN_MOVES[useMoves().last] ?? "";
  const before = useRef(text);
  useEffect(() => {
    if (before.current !== text) announce(text);
    before.current = text;
  }, [text]);
}

/** Bring a new run or a new notice into view, even from further up. A change made in place is not scrolled to. */
export function useScrollToChanges(runningId, notice, { isInPlace, stopFollowing }, jumpToEnd) {
  const isMounted = useRef(false);
  useLayoutEffect(() => {
    if (isMounted.current && runningId !== null) jumpToEnd();
  }, [runningId]);
  useLayoutEffect(() => {
    if (isMounted.current && notice && !isInPlace.current) {
      jumpToEnd();
      if (notice.place !== undefined) showRestore(stopFollowing);
    }
    isInPlace.current = false;
    isMounted.current = true;
  }, [notice?.version]);
}

/** Show the banner of a restore: a sheet would cover it, and on a low screen the removed messages push it out of view. */
function showRestore(stopFollowing) {
  const [banner, scroller] = [document.querySelector(".notice"), document.querySelector("#transcript .log")];
  if (scroller === null) return;
  if (closeSheets({ restoreFocus: false })) scroller.focus({ preventScroll: true }); // the opener may be far from the banner
  const hidden = scroller.getBoundingClientRect().top - (banner?.getBoundingClientRect().top ?? Infinity);
  if (hidden <= 0) return;
  stopFollowing();
  scroller.scrollTop -= hidden;
}

/** Move the focus after an edit to the message, or to its replacement: the closed field took the focus with it. */
export function useFocusAfterEdit({ draft, pending }, messages) {
  const closedEdit = useRef(null);
  if (draft) closedEdit.current = { id: draft.id, isSent: pending !== null };
  useEffect(() => {
    if (draft || closedEdit.current === null) return;
    const { id, isSent } = closedEdit.current;
    const place = messages.find((message) =>
      isSent ? message.id !== id && message.siblings.includes(id) : message.id === id,
    );
    if (!place) return;
    closedEdit.current = null;
    if (!isFocusUnclaimed()) return;
    findMessage(place.id)?.querySelector(".edit-button")?.focus({ preventScroll: true });
  }, [draft, messages]);
}

/** Closer to the end than this counts as being there. */
const AT_END_PX = 40;
/** Earlier messages are requested this close to the top. */
const NEAR_TOP_PX = 600;

const distanceToEnd = (element) => element.scrollHeight - element.scrollTop - element.clientHeight;

/**
 * @param {string|undefined} firstId of the messages
 * @param {() => void} onNearTop
 * @returns {{scroller: object, column: object, onScroll: () => void, isAway: boolean, jumpToEnd: () => void,
 *   stopFollowing: () => void, isInPlace: {current: boolean}, stayInPlace: () => void}} `stayInPlace` marks the next change
 *   as made in place
 */
export function useScrolling(firstId, onNearTop) {
  const scroller = useRef(null);
  const column = useRef(null);
  const isAtEnd = useRef(true);
  const isInPlace = useRef(false);
  const last = useRef({ scrollTop: 0, scrollHeight: 0 });
  const [isAway, setIsAway] = useState(false);
  const scrollTo = (top) => {
    scroller.current.scrollTop = top;
    last.current = { scrollTop: scroller.current.scrollTop, scrollHeight: scroller.current.scrollHeight };
  };
  const scrollToEnd = () => scrollTo(scroller.current.scrollHeight);
  const jumpToEnd = () => {
    isAtEnd.current = true;
    setIsAway(false);
    scrollToEnd();
  };
  /** Do not follow the next changes: the reader looks at something further up. */
  const stopFollowing = () => void (isAtEnd.current = false);
  const stayInPlace = () => {
    isInPlace.current = true;
    stopFollowing();
  };
  const onScroll = () => {
    const element = scroller.current;
    if (distanceToEnd(element) <= AT_END_PX) isAtEnd.current = true;
    else if (isMovedUp(element, last.current)) isAtEnd.current = false;
    last.current = { scrollTop: element.scrollTop, scrollHeight: element.scrollHeight };
    setIsAway(!isAtEnd.current);
    if (element.scrollTop < NEAR_TOP_PX) onNearTop();
  };
  useResize([column, scroller], () => {
    last.current.scrollHeight = scroller.current.scrollHeight;
    if (isAtEnd.current) scrollToEnd();
    else setIsAway(distanceToEnd(scroller.current) > AT_END_PX);
  });
  useAnchor(firstId, { scroller, column, isAtEnd, scrollToEnd, scrollTo });
  return { scroller, column, onScroll, isAway, jumpToEnd, stopFollowing, isInPlace, stayInPlace };
}

/** Text may grow between our scroll and its event: only a move upwards shows that the reader leaves the end. Text that
 *  shrinks, as when an answer becomes a card, moves it too. */
const isMovedUp = (element, last) =>
  element.scrollTop < last.scrollTop - 1 && element.scrollHeight >= last.scrollHeight;

/** Stay at the end, or keep the first visible message in place when messages are added above. */
function useAnchor(firstId, { scroller, column, isAtEnd, scrollToEnd, scrollTo }) {
  const knownFirst = useRef(firstId);
  // Read while the old messages are still on the page. Positions from the last scroll would be stale:
  // content-visibility gives messages their true height only afterwards.
  const isReadingOn = firstId !== knownFirst.current && scroller.current !== null && !isAtEnd.current;
  const visible = isReadingOn ? findFirstVisible(scroller.current, column.current) : null;
  useLayoutEffect(() => {
    knownFirst.current = firstId;
    if (isAtEnd.current) scrollToEnd(); // at once: an answer that shrinks and then grows would look like a reader going up
    else if (visible?.element.isConnected)
      scrollTo(scroller.current.scrollTop + visible.element.getBoundingClientRect().top - visible.top);
  });
}

/** @param {{current: Element}[]} elements @param {() => void} onResize of the first rendering */
function useResize(elements, onResize) {
  useEffect(() => {
    const observer = new ResizeObserver(onResize);
    for (const { current } of elements) observer.observe(current);
    return () => observer.disconnect();
  }, []);
}

/** @returns {{element: Element, top: number}|null} the message at the upper edge, and its position */
function findFirstVisible(scroller, column) {
  const edge = scroller.getBoundingClientRect().top;
  for (const element of column.querySelectorAll(":scope > article")) {
    const box = element.getBoundingClientRect();
    if (box.bottom > edge) return { element, top: box.top };
  }
  return null;
}
