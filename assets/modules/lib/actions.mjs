/** Report the user's actions to the server. */
import { sendAction } from "./panels.mjs";
import { findSeenVersion } from "./socket.mjs";

const { useCallback, useRef } = window.React;

let lastNumber = 0;

/** @returns {string} a new request id; `crypto.randomUUID` is missing on plain http away from localhost */
export function createRequestId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * @param {{id: string, data?: {thread?: string|null, version?: number}}} props of a list
 * @returns {(type: string, fields?: object, request_id?: string) => string} reports an action and returns its request id
 */
export function useActions(props) {
  const latest = useRef(props);
  latest.current = props;

  return useCallback((type, fields = {}, request_id = createRequestId()) => {
    lastNumber = Math.max(lastNumber + 1, Date.now());
    const { id, data: { thread = null, version } = {} } = latest.current;
    const action = { type, n: lastNumber, request_id, ...fields };
    sendAction(id, version === undefined ? action : { version: findSeenVersion(thread, version), ...action }, thread);
    return request_id;
  }, []);
}
