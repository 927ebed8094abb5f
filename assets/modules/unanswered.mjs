/** Says so when the server does not answer: Dash itself would leave a click without any sign. */
import { say } from "./toast.mjs";

const { useEffect, useRef } = window.React;

const PATIENCE_MS = 6000;
const CALLBACKS = "_dash-update-component";
const OUTAGE = "waymark-outage";

/** Tell all who wait for an answer that none may come. */
export const reportOutage = () => document.dispatchEvent(new Event(OUTAGE));

/** @param {() => void} listener called when a request was lost, or the server could not carry one out */
export function useOutage(listener) {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const hear = () => latest.current();
    document.addEventListener(OUTAGE, hear);
    return () => document.removeEventListener(OUTAGE, hear);
  }, []);
}

/** Dash has no place to hear of a request that failed, so its requests are watched on their way. */
export function watchAnswers() {
  const send = window.fetch;
  window.fetch = async (address, options) => {
    if (!String(address).includes(CALLBACKS)) return send(address, options);
    const timer = setTimeout(() => say("The server has not answered yet."), PATIENCE_MS);
    try {
      return await send(address, options);
    } catch (error) {
      say("The server does not answer. Nothing was done; please try again.");
      reportOutage();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}
