/** A conversation that opens: its last messages are painted first, and those above them follow. */
const { useLayoutEffect, useState } = window.React;

const FIRST_MESSAGES = 10;
const MIN_HIDDEN_PX = 600; // above the view: messages that follow there move nothing that is in sight
const MAX_WAIT_MS = 200; // for a moment without other work: the other panels may be painted first

/**
 * @param {import("../lib/types.mjs").MessageView[]} messages
 * @param {boolean} later whether they are an earlier part of the conversation: its end is not in sight
 * @returns {{shown: import("../lib/types.mjs").MessageView[], isWhole: boolean}}
 */
export function useFirstScreen(messages, later) {
  const [isFirst, setFirst] = useState(() => messages.length > FIRST_MESSAGES && !document.hidden);
  const isWhole = !isFirst || later;
  useLayoutEffect(() => {
    if (isWhole) return;
    const { scrollHeight, clientHeight } = /** @type {HTMLElement} */ (document.querySelector("#transcript .log"));
    if (scrollHeight < clientHeight + MIN_HIDDEN_PX) setFirst(false); // before the paint
    else whenPainted(() => setFirst(false));
  }, [isWhole]);
  return { shown: isWhole ? messages : messages.slice(-FIRST_MESSAGES), isWhole };
}

const whenPainted = (callback) =>
  requestAnimationFrame(() =>
    // Safari has none.
    "requestIdleCallback" in window ? requestIdleCallback(callback, { timeout: MAX_WAIT_MS }) : setTimeout(callback),
  );
