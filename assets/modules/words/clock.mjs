/** The current minute, for relative times that stay true while the page is open. */
import { formatAge, formatDateTime } from "./format.mjs";

const { useEffect, useState, createElement: h } = window.React;

/** @returns {number} milliseconds; renders the component again every 30 seconds */
export function useNow() {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  // Data newer than the last tick reads as "now", not as a time in the future.
  return now;
}

/**
 * A Dash component.
 * @param {{data: string, name?: "age"|"seconds"}} props `data` is ISO-8601; with the name "age", it is shown as
 *   “5 min ago”, and with "seconds" with these
 */
export function Time({ data, name }) {
  const now = useNow();
  const whole = formatDateTime(data, name === "seconds");
  return h("time", { dateTime: data, title: whole }, name === "age" ? formatAge(data, now) : whole);
}
