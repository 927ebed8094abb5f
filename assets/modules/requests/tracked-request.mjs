/** Track a request to the server: it may be late, and repeating it has no second effect. A press counts once. */
import { useListener } from "../controls/listening.mjs";

const { useEffect, useLayoutEffect, useMemo, useRef, useState } = window.React;

const RETRY_AFTER_MS = 4000;
export const NO_REPLY_MS = 6000;
const LOST_EVENT = "waymark-request-lost";

/** Whether a press is under way, `press(action)`, which does nothing meanwhile, and `release()` for one without effect. */
export function useSinglePress() {
  const [isPending, setPending] = useState(false);
  const release = () => setPending(false);
  useListener(document, LOST_EVENT, release);
  useEffect(() => {
    const timer = isPending ? setTimeout(release, RETRY_AFTER_MS) : 0;
    return () => clearTimeout(timer);
  }, [isPending]);
  const press = (action) => {
    if (isPending) return;
    setPending(true);
    action();
  };
  return { isPending, press, release };
}

const MAX_KEPT_REPLIES = 20; // those to requests that nobody tracks are never taken

/** @type {Map<string, import("../state/types.mjs").Reply>} replies by their request ids, until they are taken */
const replies = new Map();

/**
 * Keep a reply for who tracks its request. Of several that come before a rendering, or before Dash shows the page, the
 * property of the component holds the last alone.
 * @param {import("../state/types.mjs").Reply} reply
 */
export function keepReply(reply) {
  replies.set(reply.request_id, reply);
  if (replies.size > MAX_KEPT_REPLIES) replies.delete([...replies.keys()][0]);
}

/** Return a kept reply, once. @returns {import("../state/types.mjs").Reply|undefined} */
export function takeReply(request_id) {
  const reply = replies.get(request_id);
  replies.delete(request_id);
  return reply;
}

/** Report to all pending requests that their replies may never come. */
export const reportLostRequest = () => document.dispatchEvent(new Event(LOST_EVENT));

/**
 * Wait for the reply to one request at a time. A request is late without a reply after NO_REPLY_MS, or after any request was
 * lost; its reply may still come. Each handler is called once per request, even if several events happen between two
 * renderings: until the next rendering, only `current` is up to date.
 *
 * @template {{request_id: string}} R  a request, with the request id that `act` returned; a repetition has the same id
 * @param {{reply?: import("../state/types.mjs").Reply, onReply?: (request: R, reply: any, wasLate: boolean) => void,
 *   onLate?: (request: R) => void}} options  `reply`: the component's last one; that to the request may have come with it
 * @returns {{pending: R|null, isLate: boolean, start: (request: R) => void, end: () => void,
 *   settle: (reply: import("../state/types.mjs").Reply) => void}}
 *   `settle` ends a request that could not be made, like its reply
 */
export function useRequest({ reply, onReply, onLate }) {
  const current = useRef({ request: null, isLate: false });
  const [{ request, isLate }, show] = useState(current.current);
  const handlers = useRef({});
  handlers.current = { onReply, onLate };
  const { start, end, settle, fallLate } = useMemo(() => trackRequest(current, handlers, show), []);
  useLayoutEffect(() => settle(takeReply(current.current.request?.request_id)), [reply, request]);
  useListener(document, LOST_EVENT, fallLate); // always, since a request can be lost before its rendering
  useEffect(() => {
    const timer = request === null ? 0 : setTimeout(fallLate, NO_REPLY_MS);
    return () => clearTimeout(timer);
  }, [request]);
  return { pending: request, isLate, start, end, settle };
}

function trackRequest(current, handlers, show) {
  const set = (request, isLate = false) => show((current.current = { request, isLate }));
  const end = () => set(null);
  const settle = (answer) => {
    const { request, isLate } = current.current;
    if (request === null || answer?.request_id !== request.request_id) return;
    end();
    handlers.current.onReply?.(request, answer, isLate);
  };
  const fallLate = () => {
    const { request, isLate } = current.current;
    if (request === null || isLate) return;
    set(request, true);
    handlers.current.onLate?.(request);
  };
  return { start: (request) => set(request), end, settle, fallLate };
}
