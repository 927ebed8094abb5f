/** Report the user's actions to the server. */
import { sendAction } from "./panels.mjs";
import { findSeenVersion } from "./seen-version.mjs";

const { useCallback, useRef } = window.React;

const REPEATED_AFTER_MS = 4000; // a request may hang

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
 * The newest request of each list, until its reply.
 * @type {Map<string, {content: string, request_id: string, sentAt: number, retry?: () => void}>}
 */
const unanswered = new Map();

/**
 * Send an action. The same action again, before a reply, is the same request: it is not sent twice within a moment, and is
 * repeated after that, or once it is lost. The server does a repeated request once.
 * @param {string} list the id of the list
 * @param {import("./types.mjs").Action} action
 * @param {import("./types.mjs").SendOptions & {shown?: any, onEnd?: () => void}} [options]  `thread`: the conversation that
 *   the list shows; `shown`: what the person sees, beside the version of the action; `onEnd`: when a request has a reply, or
 *   is lost; `tell` says that it is lost
 * @returns {string} the request id
 */
export function sendOnce(list, { request_id, ...action }, options = {}) {
  const { thread = null, shown = null, onEnd, tell } = options;
  const content = JSON.stringify([action, thread, shown]);
  let request = unanswered.get(list);
  if (request?.content !== content) request = { content, request_id: request_id ?? createRequestId(), sentAt: -Infinity };
  unanswered.set(list, request);
  const isDue = performance.now() - request.sentAt > REPEATED_AFTER_MS;
  if (isDue) sendRequest(list, action, request, { thread, tell }).then(onEnd);
  return request.request_id;
}

async function sendRequest(list, action, request, options) {
  request.sentAt = performance.now();
  request.retry ??= () => void sendRequest(list, action, request, options);
  const { request_id, retry } = request;
  const isAnswered = await sendAction(list, { ...action, request_id }, { ...options, retry });
  if (!isAnswered) request.sentAt = -Infinity;
  else if (unanswered.get(list) === request) unanswered.delete(list);
}

/**
 * @param {{id: string, data?: {thread?: string|null, version?: number, seen?: string, run?: {id: string}|null} &
 *   Record<string, any>}} props of a list
 * @returns {(type: string, fields?: object, request_id?: string) => string} reports an action and returns its request id;
 *   whoever gives one repeats the request by itself
 */
export function useActions(props) {
  const latest = useRef(props);
  latest.current = props;

  return useCallback((type, fields = {}, request_id = undefined) => {
    const { id, data: { thread = null, version, seen, run } = {} } = latest.current;
    const action = { type, ...(version !== undefined && { version: findSeenVersion(thread, version) }), ...fields };
    if (request_id === undefined) return sendOnce(id, action, { thread, shown: seen ?? run?.id });
    sendAction(id, { ...action, request_id }, { thread });
    return request_id;
  }, []);
}
