/** A list of the server that a dialog reads and changes. */
import { send } from "./send.mjs";

const { useEffect, useRef, useState } = window.React;

/**
 * Read a list, change it by one change at a time, and read it again when a lost network is back. A reading never replaces
 * the reply to a change: that is newer.
 * @param {string} address of the list; a change has a path below it
 * @param {string} failureText
 * @returns {{found: any, problem: string|null, change: (path: string,
 *   fields: object) => Promise<import("./send.mjs").Outcome|null>}} `found` has the newest values of the replies; `change`
 *   resolves to null for a press during another change, which is no second change
 */
export function useServerList(address, failureText) {
  const [found, setFound] = useState(null);
  const [{ problem, isLost }, setFailure] = useState({ problem: null, isLost: false });
  const reading = useRef(new AbortController());
  const isChanging = useRef(false);

  const request = async (path, options) => {
    const outcome = await send(address + path, { failureText, ...options });
    if (options.signal?.aborted) return outcome;
    setFailure({ problem: outcome.problem, isLost: outcome.status === null });
    if (outcome.reply) setFound((former) => ({ ...former, ...outcome.reply }));
    return outcome;
  };
  const read = () => {
    if (isChanging.current) return;
    reading.current = new AbortController();
    request("", { signal: reading.current.signal });
  };
  const change = async (path, fields) => {
    if (isChanging.current) return null;
    isChanging.current = true;
    reading.current.abort();
    return request(path, { body: fields }).finally(() => (isChanging.current = false));
  };

  useEffect(() => {
    read();
    return () => reading.current.abort();
  }, []);
  useEffect(() => {
    if (!isLost) return undefined;
    window.addEventListener("online", read);
    return () => window.removeEventListener("online", read);
  }, [isLost]);
  return { found, problem, change };
}
