/** Reading from the server what somebody asked to see. */
const { useEffect, useState } = window.React;

const NOTHING_YET = { address: null, found: null, status: "Reading…" };
const NOT_NOW = "This cannot be read right now.";

/**
 * Fetch JSON, and fetch it anew whenever the address changes.
 * @param {string} address
 * @param {string} goneText shown when it is not there
 * @param {number} [news] changes when there is more to read
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
  return read.address === address ? read : NOTHING_YET; // what was read of another place is not this one's
}
