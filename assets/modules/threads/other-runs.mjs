/** Follow the runs of other conversations: their ends are noticed, although their streams are not open. */
import { buildApi } from "../lib/addresses.mjs";
import { noticeRunEnd } from "../lib/notices.mjs";
import { refreshThreads } from "../lib/panels.mjs";
import { fetchAsPage } from "../lib/session.mjs";

const { useEffect, useRef } = window.React;

const ASK_AGAIN_MS = 3000;
const TOLD_ASKS_EVERY = 5; // of these moments: where the socket tells of the ends, it may have been lost for a while

/**
 * Ask the server for the states of runs while another conversation is running.
 * @param {import("../lib/types.mjs").ThreadsData|undefined} data
 * @param {import("../lib/types.mjs").ThreadItem[]} threads
 */
export function useOtherRuns(data, threads) {
  const { running = [], waiting = [], current = null, told = false } = data ?? {};
  const followed = useRef(new Set());
  const latest = useRef(threads);
  latest.current = threads;
  const others = running.filter((id) => id !== current);
  const isFollowing = others.length > 0;
  const every = told && current !== null ? TOLD_ASKS_EVERY : 1;
  useEffect(() => {
    const ended = [...followed.current].filter((id) => !running.includes(id));
    followed.current = new Set(others);
    for (const id of ended) {
      const title = latest.current.find((thread) => thread.id === id)?.title ?? "";
      if (id !== current) noticeRunEnd({ thread: id, title, isWaiting: waiting.includes(id), isOpen: false });
    }
  }, [data]);
  useEffect(() => {
    if (!isFollowing) return undefined;
    let moments = 0;
    const timer = setInterval(async () => {
      if (moments++ % every) return; // the first one counts: an end may have come before the socket
      const reply = await fetchAsPage(buildApi("runs")).catch(() => null);
      const states = reply?.ok ? await reply.json() : null;
      if (states && [...followed.current].some((id) => !states.running.includes(id))) refreshThreads();
    }, ASK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isFollowing, every]);
}
