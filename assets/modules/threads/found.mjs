/** The results of a search in all conversations, below the titles that match. */
import { HitLine, SEARCH_HINT, SearchState, openHit, useSearch } from "../page/search.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h } = window.React;

/** @param {{text: string, now: number}} props */
export function Found({ text, now }) {
  const found = useSearch(text);
  const isEmpty = found.hits.length === 0 && !found.failed && !found.pending;
  const row = (hit, index) =>
    h(
      "li",
      { key: index, className: "thread-row" },
      h(
        "button",
        { type: "button", className: "thread-link thread-hit", onClick: () => openHit(hit) },
        h(HitLine, { hit, now }),
      ),
    );
  return h(
    "section",
    { "aria-label": _("In messages") },
    h("h3", null, _("In messages")),
    h("ul", null, found.hits.map(row)),
    isEmpty &&
      h("p", { className: "pane-empty", role: "status" }, found.isSearching ? _("Searching…") : _("No message matches.")),
    h(SearchState, { found, className: "pane-empty" }),
    isEmpty && !found.isSearching && h("p", { className: "pane-empty" }, SEARCH_HINT),
  );
}
