/** The link from the beginning of a long text to all of it. */
const { createElement: h } = window.React;

/** @param {{more: import("../lib/types.mjs").MoreView|null}} props */
export function ShowAll({ more }) {
  if (!more) return null;
  const label = `Show all (${more.chars.toLocaleString("en")} more characters)`;
  return h("p", { className: "show-all" }, h("a", { href: more.address, target: "_blank", rel: "noreferrer", "data-testid": "show-all" }, label));
}

/**
 * Fetch a text that the page holds only in part.
 * @param {{text: string, more: import("../lib/types.mjs").MoreView|null}} shown
 * @returns {Promise<string|null>} null when it cannot be read now
 */
export async function fetchWholeText({ text, more }) {
  if (!more) return text;
  try {
    const reply = await fetch(more.address);
    return reply.ok ? await reply.text() : null;
  } catch {
    return null;
  }
}
