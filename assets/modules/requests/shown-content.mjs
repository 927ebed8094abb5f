/** Fetch content that is shown on request. */
import { useNetworkReturn } from "../browser/online.mjs";
import { _ } from "../words/words.mjs";
import { fetchAsPage } from "./session.mjs";

const { useEffect, useState } = window.React;

const LOADING = { address: null, content: null, status: _("Reading…") };
const UNREADABLE_TEXT = _("This cannot be read right now.");

/**
 * Fetch JSON, and fetch it again whenever the address changes, or a lost network is back.
 * @param {string} address
 * @param {string} goneText shown when the server answers 404
 * @param {number} [revision] changes when there is more to fetch
 * @returns {{content: any, status: string|null}} one of the two is null
 */
export function useFetch(address, goneText, revision) {
  const [result, setResult] = useState(LOADING);
  const [attempt, setAttempt] = useState(0);
  useNetworkReturn(result.status === UNREADABLE_TEXT, () => setAttempt((number) => number + 1));
  useEffect(() => {
    const controller = new AbortController();
    const fail = (status) => setResult({ address, content: null, status });
    fetchAsPage(address, { signal: controller.signal })
      .then(async (reply) =>
        reply.ok
          ? setResult({ address, content: await reply.json(), status: null })
          : fail(reply.status === 404 ? goneText : UNREADABLE_TEXT),
      )
      .catch(() => controller.signal.aborted || fail(UNREADABLE_TEXT));
    return () => controller.abort();
  }, [address, revision, attempt]);
  return result.address === address ? result : LOADING; // never the content of another address
}
