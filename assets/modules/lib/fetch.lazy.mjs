/** Fetch content that is shown on request. */
const { useEffect, useState } = window.React;

const NOTHING_YET = { address: null, found: null, status: "Reading…" };
const NOT_NOW = "This cannot be read right now.";

/**
 * Fetch JSON, and fetch it again whenever the address changes.
 * @param {string} address
 * @param {string} goneText shown when the server answers 404
 * @param {number} [news] changes when there is more to fetch
 * @returns {{found: any, status: string|null}} one of the two is null
 */
export function useFetch(address, goneText, news) {
  const [read, setRead] = useState(NOTHING_YET);
  useEffect(() => {
    const leaving = new AbortController();
    const fail = (status) => setRead({ address, found: null, status });
    fetch(address, { signal: leaving.signal })
      .then(async (reply) => (reply.ok ? setRead({ address, found: await reply.json(), status: null }) : fail(reply.status === 404 ? goneText : NOT_NOW)))
      .catch(() => leaving.signal.aborted || fail(NOT_NOW));
    return () => leaving.abort();
  }, [address, news]);
  return read.address === address ? read : NOTHING_YET; // never the content of another address
}
