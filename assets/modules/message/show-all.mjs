/** The link from the beginning of a long text to all of it. */
import { fetchAsPage } from "../requests/session.mjs";
import { LANGUAGE, _, ngettext } from "../words/words.mjs";

const { createElement: h } = window.React;

const Link = ({ href, hook, children }) =>
  h("p", { className: "show-all" }, h("a", { href, target: "_blank", rel: "noreferrer", "data-testid": hook }, children));

/** @param {{more: import("../state/types.mjs").MoreView|null}} props */
export function ShowAll({ more }) {
  if (!more) return null;
  const label = _("Show all ({chars} more characters)", { chars: more.chars.toLocaleString(LANGUAGE) });
  return h(Link, { href: more.address, hook: "show-all" }, label);
}

/**
 * The link to all calls of a message that makes more than a view shows.
 * @param {{more: import("../state/types.mjs").MoreCallsView|null}} props
 */
export function ShowAllCalls({ more }) {
  if (!more) return null;
  const count = more.count.toLocaleString(LANGUAGE);
  const label = ngettext("Show all ({count} more tool call)", "Show all ({count} more tool calls)", more.count, { count });
  return h(Link, { href: more.address, hook: "show-all-calls" }, label);
}

/**
 * Fetch a text that the page holds only in part.
 * @param {{text: string, more: import("../state/types.mjs").MoreView|null}} shown
 * @returns {Promise<string|null>} null when it cannot be read now
 */
export async function fetchWholeText({ text, more }) {
  if (!more) return text;
  const reply = await fetchAsPage(more.address).catch(() => null);
  return reply?.ok ? reply.text().catch(() => null) : null;
}
