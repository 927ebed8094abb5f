/** Direct the view, the focus and the screen reader when a run begins or ends, and after an edit. */
import { useMoves } from "../lib/moves.mjs";
import { noticeRunEnd, removeSeenNotice } from "../lib/notices.mjs";
import { _ } from "../lib/words.mjs";
import { isFocusUnclaimed } from "../page/lost-focus.mjs";
import { closeSheets } from "../page/panes.mjs";

const { useCallback, useEffect, useLayoutEffect, useRef } = window.React;

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

/** Announce to a screen reader that an answer began, ended, waits or was undone, but never its text. */
export function useSpokenRun(run, isWaiting, announce) {
  const before = useRef(null);
  const state = nameState(run, isWaiting);
  useEffect(() => {
    if (state === "running") announce(_("Answering…"));
    else if (before.current === "running") announce(SPOKEN_STATES[state] ?? _("Answer finished"));
    before.current = state;
  }, [state, announce]);
  useSpokenUndo(announce);
}

/** Announce an undo or a redo once it is shown. Two in turn are told twice: between them nothing is told. */
function useSpokenUndo(announce) {
  const { last } = useMoves();
  const text = SPOKEN_MOVES[last] ?? "";
  const before = useRef(text);
  useEffect(() => {
    if (before.current !== text) announce(text);
    before.current = text;
  }, [text, announce]);
}

/** Give notice when an answer ends while the page is hidden, and take it back when the conversation is seen. */
export function useRunNotice(run, isWaiting, thread, title) {
  const before = useRef(null);
  const state = nameState(run, isWaiting);
  useEffect(() => {
    if (thread !== null && before.current === "running" && state !== "running")
      noticeRunEnd({ thread, title, isWaiting: state === "waiting", isOpen: true });
    before.current = state;
  }, [state]);
  useEffect(() => {
    const onChange = () => removeSeenNotice(thread);
    onChange();
    document.addEventListener("visibilitychange", onChange);
    return () => document.removeEventListener("visibilitychange", onChange);
  }, [thread]);
}

/**
 * Bring a new run or a new notice into view, even from further up. A change made in place is not scrolled to.
 * @returns {() => void} marks the next change as made in place
 */
export function useScrollToChanges(runningId, notice, { jumpToEnd, stopFollowing }) {
  const isMounted = useRef(false);
  const isInPlace = useRef(false);
  useLayoutEffect(() => {
    if (isMounted.current && runningId !== null) jumpToEnd();
  }, [runningId, jumpToEnd]);
  useLayoutEffect(() => {
    if (isMounted.current && notice && !isInPlace.current) {
      jumpToEnd();
      if (notice.place !== undefined) showRestore(stopFollowing);
    }
    isInPlace.current = false;
    isMounted.current = true;
  }, [notice?.version, jumpToEnd]);
  return useCallback(() => {
    isInPlace.current = true;
    stopFollowing();
  }, [stopFollowing]);
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
    document.querySelector(`[data-message-id="${CSS.escape(place.id)}"] .edit-button`)?.focus({ preventScroll: true });
  }, [draft, messages]);
}
