/** Report the user's actions to the server. */
import { findSeenVersion } from "./socket.mjs";

const { useCallback, useEffect, useRef } = window.React;

/** Two `setProps` in one task would reach the server as one: Dash sends the last value only. */
const GAP_MS = 60;

let lastNumber = 0;

/** @returns {string} a new operation id; `crypto.randomUUID` is missing on plain http away from localhost */
export function createOperationId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * @param {{data?: {thread?: string|null, version?: number}, setProps: Function}} props of a component
 * @returns {(type: string, fields?: object, operation?: string) => string} reports an action and returns its operation id
 */
export function useActions(props) {
  const latest = useRef(props);
  const outbox = useRef({ waiting: [], timer: 0 });
  latest.current = props;

  const sendNext = useCallback(() => {
    const action = outbox.current.waiting.shift();
    outbox.current.timer = action ? setTimeout(sendNext, GAP_MS) : 0;
    if (action) latest.current.setProps({ action });
  }, []);
  useEffect(() => () => clearTimeout(outbox.current.timer), []);

  return useCallback((type, fields = {}, operation = createOperationId()) => {
    lastNumber = Math.max(lastNumber + 1, Date.now());
    const { thread, version } = latest.current.data ?? {};
    const action = { type, n: lastNumber, op: operation, ...fields };
    outbox.current.waiting.push(version === undefined ? action : { version: findSeenVersion(thread, version), ...action });
    if (!outbox.current.timer) sendNext();
    return operation;
  }, [sendNext]);
}
