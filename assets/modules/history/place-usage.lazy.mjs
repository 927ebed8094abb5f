/** The tokens and the cost of all answers up to a place, by model. Fetched when the place is selected. */
import { useFetch } from "../lib/fetch.lazy.mjs";
import { formatDollars, formatModelUsage, formatUsage } from "../lib/format.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h } = window.React;

/** @param {{thread: string, place: string}} props */
export function PlaceUsage({ thread, place }) {
  const { content } = useFetch(`/api/threads/${encodeURIComponent(thread)}/usage?${new URLSearchParams({ place })}`, "");
  if (!content?.answers) return null;
  const { cost, priced, models } = content;
  return h(
    "p",
    { className: "card-figures", "data-testid": "place-usage" },
    h("span", null, _("So far {usage}", { usage: `${formatUsage(content)}${priced > 0 ? `, ${formatDollars(cost)}` : ""}` })),
    models.length > 1 && models.map((model) => h("span", { key: model.spec }, formatModelUsage(model))),
  );
}
