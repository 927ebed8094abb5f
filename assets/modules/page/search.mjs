/**
 * The search over all conversations: its requests, its lines, and the way to what was found. Snippets are text, never HTML.
 */
import { buildApi, buildThreadApi } from "../browser/addresses.mjs";
import { useHits } from "../requests/shown-content.mjs";
import { getOpenThread, openPlace } from "../state/show-message.mjs";
import { findDirection } from "../words/direction.mjs";
import { formatAge } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { closeSheets } from "./panes.mjs";

const { Fragment, createElement: h, useMemo } = window.React;

const MIN_PREFIX_CHARS = 3; // checkpoints/search: fewer letters are a whole word
const NOTHING = { text: "", hits: [], threads: [], more: false, pending: false };
const UNREADABLE_TEXT = _("The search did not answer. Please try again.");
export const SEARCH_HINT = _(
  "Finds every message. Narrow by role:user, role:note, has:code, has:summary, in:this, tag:work, before:2025-06, after:today, a “phrase” in quotes, or -without.",
);

/**
 * @typedef {{thread: string, title: string, owner: string, who: string, message: string,
 *   checkpoint: string|null, name: string, parts: {text: string, marked: boolean}[], time: string,
 *   standing: "current"|"branch"|"left", branch: string}} Hit
 */

/**
 * Search while the user types. Until a reply comes, the hits of the text before are kept.
 * @param {string} text
 * @returns {{text: string, hits: Hit[], threads: import("../state/types.mjs").ThreadItem[], more: boolean, pending: boolean,
 *   isSearching: boolean, failed: boolean}}
 */
export function useSearch(text) {
  const wanted = text.trim() === "" ? "" : text;
  const address = useMemo(() => wanted && buildApi("search", { q: wanted, thread: getOpenThread() }), [wanted]);
  const { found, isFound } = useHits(address || null);
  return { ...NOTHING, ...(wanted !== "" && found), text: wanted, isSearching: !isFound };
}

/** Open what was found: on its branch, or where it left the conversation. @param {Hit} hit */
export async function openHit(hit) {
  closeSheets({ restoreFocus: false });
  const address = buildThreadApi(hit.thread, `messages/${encodeURIComponent(hit.message)}/place`);
  await openPlace(hit.thread, address, "message", { unreadableText: UNREADABLE_TEXT });
}

/**
 * One hit: its conversation, and its snippet with marks. In the open conversation, who wrote it says more than its title.
 * @param {{hit: Hit, now: number}} props
 */
export function HitLine({ hit, now }) {
  const standing = { left: _("removed"), branch: _("on branch “{branch}”", { branch: hit.branch }) }[hit.standing];
  const people = [...new Set([hit.owner, hit.who])].filter(Boolean); // the owner may have asked
  const isOpen = hit.thread === getOpenThread();
  const where = isOpen ? people.join(" · ") : hit.title;
  const title = hit.checkpoint === null ? where : isOpen ? hit.name : `${hit.name} · ${hit.title}`;
  const facts = isOpen && hit.checkpoint === null ? [_("this conversation")] : people;
  const snippet = hit.parts.map(({ text }) => text).join("");
  const mark = ({ text, marked }, index) => (marked ? h("mark", { key: index }, text) : text);
  return h(
    Fragment,
    null,
    h("span", { className: "hit-head" },
      h("span", { className: "hit-title", dir: findDirection(title) }, title),
      h("span", { className: "hit-facts" }, [...facts, standing, formatAge(hit.time, now)].filter(Boolean).join(" · ")),
    ),
    h("span", { className: "hit-snippet", dir: findDirection(snippet) }, hit.parts.map(mark)),
  );
}

/** @param {string} text @returns whether its last word is too short to be the beginning of others */
const isShort = (text) => new RegExp(`(?<!\\S)\\p{L}{1,${MIN_PREFIX_CHARS - 1}}$`, "u").test(text);

/** The state of a search below its hits. @param {{found: ReturnType<typeof useSearch>, className: string}} props */
export function SearchState({ found, className }) {
  const line = (text) => h("p", { className, role: "status" }, text);
  if (found.failed) return line(UNREADABLE_TEXT);
  if (found.pending) return line(_("Older messages are being indexed; more may be found in a moment."));
  if (found.more) return line(_("More was found. Add words or filters to narrow."));
  if (found.hits.length === 0 && isShort(found.text))
    return line(_("Type three letters to find words that begin with them."));
  return null;
}
