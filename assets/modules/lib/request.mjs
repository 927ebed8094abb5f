/** A request to the server that is under way: it may be late, and can be made again without acting twice. */
const { useCallback, useEffect, useLayoutEffect, useRef, useState } = window.React;

const NO_REPLY_MS = 6000;
const LOST = "waymark-request-lost";
const ignore = () => undefined;

/** Tell all who wait for a reply that none may come. */
export const reportLostRequest = () => document.dispatchEvent(new Event(LOST));

/**
 * Wait for the reply to one request at a time. Late means: no reply in time, or a request was lost; the reply may still come.
 * Each handler is called once for a request, whatever happens in one moment: `current` is the truth between two renderings.
 *
 * @template {{op: string}} R  a request, with the operation id that `act` gave back; made again, it carries the same one
 * @param {{reply?: import("./types.mjs").Reply, onReply?: (request: R, reply: object, wasLate: boolean) => void,
 *   onLate?: (request: R) => void}} options
 * @returns {{pending: R|null, isLate: boolean, start: (request: R) => void, end: () => void}}
 */
export function useRequest({ reply, onReply = ignore, onLate = ignore }) {
  const current = useRef({ request: null, isLate: false });
  const handlers = useRef({});
  const [{ request, isLate }, show] = useState(current.current);
  handlers.current = { onReply, onLate };
  const set = useCallback((next) => show((current.current = next)), []);
  const start = useCallback((next) => set({ request: next, isLate: false }), [set]);
  const end = useCallback(() => set({ request: null, isLate: false }), [set]);

  useLayoutEffect(() => {
    const { request: asked, isLate: wasLate } = current.current;
    if (asked === null || reply?.op !== asked.op) return;
    end();
    handlers.current.onReply(asked, reply, wasLate);
  }, [reply, request, end]);
  useEffect(() => {
    if (request === null) return undefined;
    const fallLate = () => {
      if (current.current.request !== request || current.current.isLate) return;
      set({ request, isLate: true });
      handlers.current.onLate(request);
    };
    const timer = setTimeout(fallLate, NO_REPLY_MS);
    document.addEventListener(LOST, fallLate);
    return () => {
      clearTimeout(timer);
      document.removeEventListener(LOST, fallLate);
    };
  }, [request, set]);
  return { pending: request, isLate, start, end };
}
