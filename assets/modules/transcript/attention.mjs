/** Direct the view, the focus and the screen reader when a run begins or ends, and after an edit. */
const { useCallback, useEffect, useLayoutEffect, useRef } = window.React;

const SPOKEN = { stopped: "Answer stopped", failed: "Answer failed", interrupted: "Answer stopped" };

/** Announce to a screen reader that an answer began or ended, but never its text. */
export function useSpokenRun(run, announce) {
  const before = useRef(null);
  const state = run?.state ?? null;
  useEffect(() => {
    if (state === "running") announce("Answering…");
    else if (before.current === "running") announce(SPOKEN[state] ?? "Answer finished");
    before.current = state;
  }, [state, announce]);
}

/**
 * Bring a new run or a new notice into view, even from further up. A change made in place is not scrolled to.
 * @returns {() => void} marks the next change as made in place
 */
export function useJumps(runningId, notice, { jump, stay }) {
  const mounted = useRef(false);
  const inPlace = useRef(false);
  useLayoutEffect(() => {
    if (mounted.current && runningId !== null) jump();
  }, [runningId, jump]);
  useLayoutEffect(() => {
    if (mounted.current && notice && !inPlace.current) jump();
    inPlace.current = false;
    mounted.current = true;
  }, [notice?.op, jump]);
  return useCallback(() => {
    inPlace.current = true;
    stay();
  }, [stay]);
}

/** Move the focus after an edit to the message, or to its replacement: the closed field took the focus with it. */
export function useFocusAfterEdit({ draft, pending }, messages) {
  const left = useRef(null);
  if (draft) left.current = { id: draft.id, isSent: pending !== null };
  useEffect(() => {
    if (draft || left.current === null) return;
    const { id, isSent } = left.current;
    const place = messages.find((message) => (isSent ? message.id !== id && message.siblings.includes(id) : message.id === id));
    if (!place) return;
    left.current = null;
    if (document.activeElement !== document.body) return;
    document.querySelector(`[data-message-id="${CSS.escape(place.id)}"] .edit-button`)?.focus({ preventScroll: true });
  }, [draft, messages]);
}
