/**
 * A conversation that begins with the message just sent. Its id is the request's, so the page follows it before the reply.
 */
const { useEffect, useState } = window.React;

const EXPECT_EVENT = "waymark-expect";

/** @param {string|null} thread the request id of the message that begins it; null if it does not begin */
export const expectThread = (thread) => document.dispatchEvent(new CustomEvent(EXPECT_EVENT, { detail: { thread } }));

/**
 * @param {import("./types.mjs").TranscriptData|undefined} data
 * @param {import("./types.mjs").Reply|undefined} reply
 * @returns {string|null} the conversation to show: that of the data, or else the expected one
 */
export function useShownThread(data, reply) {
  const [expected, setExpected] = useState(null);
  const thread = data?.thread ?? null;
  useEffect(() => {
    const onExpect = (event) => setExpected(event.detail.thread);
    document.addEventListener(EXPECT_EVENT, onExpect);
    return () => document.removeEventListener(EXPECT_EVENT, onExpect);
  }, []);
  const isRefused = reply?.ok === false && reply.request_id === expected;
  useEffect(() => {
    if (thread !== null || isRefused) setExpected(null);
  }, [thread, isRefused]);
  return thread ?? (data?.version === 0 ? expected : null);
}
