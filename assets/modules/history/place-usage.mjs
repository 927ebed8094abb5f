/**
 * The tokens and the cost of all answers up to a place, by model. Fetched when the selection stays there: keys walk past
 * many places.
 */
import { buildThreadApi } from "../browser/addresses.mjs";
import { useFetch } from "../requests/shown-content.mjs";

const { createElement: h, useEffect, useState } = window.React;

const STAYS_AFTER_MS = 150;

/** @param {{thread: string, place: string}} props */
export function PlaceUsage({ thread, place }) {
  const [stayed, setStayed] = useState(null);
  useEffect(() => {
    const timer = setTimeout(setStayed, STAYS_AFTER_MS, place);
    return () => clearTimeout(timer);
  }, [place]);
  return stayed === place && h(Usage, { thread, place });
}

function Usage({ thread, place }) {
  const { content } = useFetch(buildThreadApi(thread, "usage", { place }), "");
  if (!content?.parts.length) return null;
  return h(
    "p",
    { className: "card-figures", "data-testid": "place-usage" },
    content.parts.map(({ text, title }) => h("span", { key: text, title }, text)),
  );
}
