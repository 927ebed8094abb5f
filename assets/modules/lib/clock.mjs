/** The current minute, for relative times that stay true while the page is open. */
const { useEffect, useState } = window.React;

/** @returns {number} milliseconds; renders the component again every 30 seconds */
export function useNow() {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  // Data newer than the last tick must not read as lying in the future: "now" covers that.
  return now;
}
