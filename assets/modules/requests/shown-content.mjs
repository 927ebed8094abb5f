/** Content that is fetched when it is shown, and what a search finds while its text is being typed. */
import { useListener } from "../controls/listening.mjs";
import { _ } from "../words/words.mjs";
import { send } from "./send.mjs";

const { useEffect, useState } = window.React;

const GONE = 404;
const INDEXING_PAUSE_MS = 1500; // until a search is repeated while messages are being indexed
const NOTHING = { address: null, reply: null, status: null };

/** Read JSON; again after a change, when a lost network is back, and while the reply is not all of it. */
function useReading(address, revision, pauseMs) {
  const [result, setResult] = useState(NOTHING);
  const [attempt, setAttempt] = useState(0);
  const readAgain = () => setAttempt((number) => number + 1);
  const isLost = result.address !== null && result.reply === null && result.status !== GONE;
  useListener(window, "online", () => isLost && readAgain());
  useEffect(() => {
    if (address === null) return setResult(NOTHING);
    const controller = new AbortController();
    const read = async () => {
      const { reply, status } = await send(address, { signal: controller.signal });
      if (controller.signal.aborted) return;
      setResult({ address, reply, status });
      if (reply?.pending) timer = setTimeout(read, INDEXING_PAUSE_MS);
    };
    let timer = setTimeout(read, pauseMs);
    return () => (clearTimeout(timer), controller.abort());
  }, [address, revision, attempt]);
  return { ...result, isRead: result.address === address, readAgain };
}

const LOADING = { content: null, status: _("Reading…") };
const UNREADABLE_TEXT = _("This cannot be read right now.");

/**
 * Fetch JSON, and fetch it again whenever the address changes, or a lost network is back.
 * @param {string} address
 * @param {string} goneText shown when the server answers 404
 * @param {number} [revision] changes when there is more to fetch
 * @returns {{content: any, status: string|null}} one of the two is null
 */
export function useFetch(address, goneText, revision) {
  const { reply, status, isRead } = useReading(address, revision, 0);
  if (!isRead) return LOADING; // never the content of another address
  return { content: reply, status: reply !== null ? null : status === GONE ? goneText : UNREADABLE_TEXT };
}

const TYPING_PAUSE_MS = 150;
const SLOW_AFTER_MS = 600; // until it is said that a search takes its time
const FAILED = { hits: [], failed: true };

/**
 * @param {string|null} address of a search; null: there is none
 * @param {number} [version] of what is searched
 * @returns {{found: any, isFound: boolean, isSlow: boolean, searchAgain: () => void}} `found`: null without a reply yet, and
 *   of the address before it unless `isFound`
 */
export function useHits(address, version) {
  const [isSlow, setSlow] = useState(false);
  const { address: shown, reply, isRead, readAgain } = useReading(address, version, TYPING_PAUSE_MS);
  useEffect(() => {
    setSlow(false);
    const timer = isRead ? 0 : setTimeout(setSlow, SLOW_AFTER_MS, true);
    return () => clearTimeout(timer);
  }, [address, isRead]);
  return { found: shown === null ? null : (reply ?? FAILED), isFound: isRead, isSlow, searchAgain: readAgain };
}
