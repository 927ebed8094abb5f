/** The current minute, for relative times that stay true while the page is open. */
const { useEffect, useState } = window.React;

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
