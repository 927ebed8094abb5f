/** A press that counts once: it may be repeated only after a time without an effect, or when its request is lost. */
import { LOST_EVENT } from "./tracked-request.mjs";

const { useEffect, useState } = window.React;

const RETRY_AFTER_MS = 4000;

/** Whether a press is under way, `press(action)`, which does nothing meanwhile, and `release()` for one without effect. */
export function useSinglePress() {
  const [isPending, setPending] = useState(false);
  useEffect(() => {
    if (!isPending) return undefined;
    const release = () => setPending(false);
    const timer = setTimeout(release, RETRY_AFTER_MS);
    document.addEventListener(LOST_EVENT, release);
    return () => {
      clearTimeout(timer);
      document.removeEventListener(LOST_EVENT, release);
    };
  }, [isPending]);
  const press = (action) => {
    if (isPending) return;
    setPending(true);
    action();
  };
  return { isPending, press, release: () => setPending(false) };
}
