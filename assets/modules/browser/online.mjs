/** The return of a network that was lost. */
const { useEffect, useRef } = window.React;

/**
 * Run an action once the network is back, for instance to read again.
 * @param {boolean} isLost whether a request had no reply
 * @param {() => void} act
 */
export function useNetworkReturn(isLost, act) {
  const newest = useRef(act);
  newest.current = act;
  useEffect(() => {
    if (!isLost) return undefined;
    const onOnline = () => newest.current();
    window.addEventListener("online", onOnline);
    return () => window.removeEventListener("online", onOnline);
  }, [isLost]);
}
