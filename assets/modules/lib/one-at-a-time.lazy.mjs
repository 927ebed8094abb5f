/** One change at a time. */
const { useRef } = window.React;

/** Make one change at a time: a second press on a slow network is no second change. @param {(...given: any[]) => Promise<any>} change */
export function useOneAtATime(change) {
  const isChanging = useRef(false);
  return async (...given) => {
    if (isChanging.current) return undefined;
    isChanging.current = true;
    return change(...given).finally(() => (isChanging.current = false));
  };
}
