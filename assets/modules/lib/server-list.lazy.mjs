/** A list of the server that a dialog reads and changes. */
import { useNetworkReturn } from "./online.mjs";
import { send } from "./send.mjs";

const { useEffect, useRef, useState } = window.React;

const NO_FAILURE = { problem: null, isLost: false, isOfChange: false };

/**
 * Read a list, change it by one change at a time, and read it again when a lost network is back. A reading never replaces
 * the reply to a change, which is newer, and takes no failure of a change away: the next change does.
 * @param {string} address of the list; a change has a path below it
 * @param {string} failureText
 * @param {{lostText?: string, readOptions?: object}} [options] `lostText` is shown for a change without a reply;
 *   `readOptions`: of the request that reads
 * @returns {{found: any, problem: string|null, change: (path: string, fields: object,
 *   headers?: Record<string, string>) => Promise<import("./send.mjs").Outcome|null>}} `found` has the newest values of the
 *   replies; `change` resolves to null for a press during another change, which is no second change
 */
export function useServerList(address, failureText, { lostText, readOptions } = {}) {
  const [found, setFound] = useState(null);
  const [{ problem, isLost }, setFailure] = useState(NO_FAILURE);
  const reading = useRef(new AbortController());
  const isChanging = useRef(false);

  const request = async (path, options) => {
    const outcome = await send(address + path, { failureText, ...options });
    if (options.signal?.aborted) return outcome;
    const isOfChange = options.body !== undefined;
    const newProblem = outcome.problem ?? outcome.reply?.problem ?? null;
    const failure = { problem: newProblem, isLost: outcome.status === null, isOfChange };
    // A reading that succeeds says nothing about a change that failed.
    const isKept = (former) => former.isOfChange && !isOfChange && newProblem === null;
    setFailure((former) => (isKept(former) ? { ...former, isLost: false } : failure));
    if (outcome.reply) setFound((former) => ({ ...former, ...outcome.reply }));
    return outcome;
  };
  const read = () => {
    if (isChanging.current) return;
    reading.current = new AbortController();
    request("", { ...readOptions, signal: reading.current.signal });
  };
  const change = async (path, fields, headers) => {
    if (isChanging.current) return null;
    isChanging.current = true;
    reading.current.abort();
    return request(path, { body: fields, headers, lostText }).finally(() => (isChanging.current = false));
  };

  useEffect(() => {
    read();
    return () => reading.current.abort();
  }, []);
  useNetworkReturn(isLost, read);
  return { found, problem, change };
}
