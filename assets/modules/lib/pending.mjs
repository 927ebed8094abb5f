/** A press that counts once: it may be repeated only after a time without an effect. */
const { useEffect, useState } = window.React;

const RETRY_AFTER_MS = 4000;

/** Whether a press is under way, and `press(action)`, which does nothing meanwhile. */
export function usePending() {
  const [isPending, setPending] = useState(false);
  useEffect(() => {
    if (!isPending) return undefined;
    const timer = setTimeout(() => setPending(false), RETRY_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isPending]);
  const press = (action) => {
    if (isPending) return;
    setPending(true);
    action();
  };
  return { isPending, press };
}
