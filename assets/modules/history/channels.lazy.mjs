/** The values of a graph at a place as folded trees, with their differences from another place. */
import { useFetch } from "../lib/fetch.lazy.mjs";
import { formatCount } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { encodeThread } from "../lib/thread-ids.mjs";
import { _ } from "../lib/words.mjs";

const { Fragment, createElement: h, useState } = window.React;

export const NO_PLACE = "-"; // instead of a second place, as the server reads it
const GONE_TEXT = _("One of these places no longer exists.");
const DIFFERENCE_TEXTS = {
  same: _("the same"),
  changed: _("changed"),
  added: _("only in the second"),
  removed: _("only in the first"),
};
const NOT_SET = _("not set");

loadStyle(new URL("./channels.lazy.css", import.meta.url));

/**
 * @typedef {{kind: "object"|"list"|"messages"|"text"|"other", text: string, count: number, items: [string, TreeNode][],
 *   digest: string}} TreeNode
 * @typedef {{summary: string, tree: TreeNode|null, address: string|null}} ChannelSide
 * @typedef {{name: string, difference: "same"|"changed"|"added"|"removed"|null, one: ChannelSide|null,
 *   other: ChannelSide|null, is_unknown: boolean, lost_kind: string}} ChannelView
 * @typedef {{name: string, channels: ChannelView[]}} SubgraphView
 * @param {{data: import("../lib/types.mjs").BegunHistory, one: string, other: string, isBrief?: boolean}} props
 *   `isBrief`: only what differs
 */
export function Channels({ data, one, other, isBrief = false }) {
  const { content, status } = useFetch(
    `/api/threads/${encodeThread(data.thread)}/state?${new URLSearchParams({ place: one, other })}`,
    GONE_TEXT,
    data.version,
  );
  if (!content) return h("p", { className: "quiet", role: "status" }, status);
  const isDifferent = (channel) => channel.difference !== "same" && !hasMessages(channel);
  const shown = content.channels.filter((channel) => !isBrief || isDifferent(channel));
  const subgraphs = (content.subgraphs ?? [])
    .map(({ name, channels }) => ({ name, channels: channels.filter((channel) => !isBrief || isDifferent(channel)) }))
    .filter(({ channels }) => channels.length > 0);
  if (shown.length + subgraphs.length === 0)
    return h("p", { className: "quiet", role: "status" }, describeNothing(content, isBrief));
  return h(
    Fragment,
    null,
    shown.map((channel) => h(Channel, { key: `${one} ${other} ${channel.name}`, channel })),
    content.more > 0 &&
      h("p", { className: "quiet" }, _("… and {values}.", { values: formatCount(content.more, "more value") })),
    subgraphs.map((subgraph, place) => h(Subgraph, { key: `${one} ${other} ${place}`, subgraph })),
  );
}

const hasMessages = ({ one, other }) => [one, other].every((side) => !side || (side.tree === null && side.address === null));

function describeNothing({ has_state: hasState }, isBrief) {
  if (isBrief) return _("No value of the graph differs.");
  return hasState ? _("The graph has no values here.") : _("The graph has no state here: it had not run yet.");
}

/** The values of a subgraph that waits, in a fold. @param {{subgraph: SubgraphView}} props */
const Subgraph = ({ subgraph: { name, channels } }) =>
  h(
    "details",
    { className: "channel subgraph", "data-testid": "subgraph" },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      h("span", { className: "channel-name" }, name),
      h("span", { className: "channel-summary" }, _("a subgraph in a step that has not ended")),
    ),
    channels.map((channel) => h(Channel, { key: channel.name, channel })),
  );

/** A channel in a fold, with its values in a few words. @param {{channel: ChannelView}} props */
function Channel({ channel: { name, difference, one, other, is_unknown: isUnknown, lost_kind: lostKind } }) {
  const [isOpen, setOpen] = useState(false);
  const isCompared = difference !== null && difference !== "same";
  return h(
    "details",
    {
      className: "channel", "data-testid": "channel", "data-difference": difference,
      onToggle: (event) => setOpen(event.currentTarget.open),
    },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      h("code", { className: "channel-name" }, name),
      h(
        "span",
        { className: "channel-summary" },
        isCompared
          ? h(Changed, { before: one?.summary ?? NOT_SET, after: other?.summary ?? NOT_SET })
          : (one ?? other)?.summary,
      ),
      lostKind !== "" && h("span", { className: "channel-difference" }, _("{kind} not kept", { kind: lostKind })),
      difference !== null && h("span", { className: "channel-difference" }, DIFFERENCE_TEXTS[difference]),
    ),
    isUnknown &&
      h(
        "p",
        { className: "quiet" },
        _("The graph has no value of this name any more. A run that goes on from here leaves it out."),
      ),
    lostKind !== "" &&
      h("p", { className: "quiet" },
        _(
          "The graph wrote a value of the kind {kind}. It gets another kind back: LangGraph's serializer does not keep this one.",
          { kind: lostKind },
        ),
      ),
    isOpen && h(ChannelBody, { name, one, other, isCompared }),
  );
}

/** @param {{name: string, one: ChannelSide|null, other: ChannelSide|null, isCompared: boolean}} props */
function ChannelBody({ name, one, other, isCompared }) {
  const isTree = Boolean((one ?? other)?.tree) && (!isCompared || !one || !other || other.tree !== null);
  const link = (side, text) =>
    side?.address &&
    h(
      "p",
      { className: "show-all" },
      h("a", { href: side.address, target: "_blank", rel: "noreferrer", "data-testid": "show-all" }, text),
    );
  return h(
    "div",
    { className: "channel-body", tabIndex: 0, role: "region", "aria-label": _("Value of {name}", { name }) },
    isTree &&
      h(
        "ul",
        { className: "tree" },
        h(TreeItem, { one: one?.tree ?? null, other: other?.tree ?? null, isCompared, isOpen: true }),
      ),
    !isTree &&
      h(
        "p",
        { className: "quiet" },
        hasMessages({ one, other }) ? _("These are the messages of the conversation.") : _("This is too large for a tree."),
      ),
    link(one, isCompared && other ? _("Show all of the first") : _("Show all")),
    isCompared && link(other, one ? _("Show all of the second") : _("Show all")),
    !isCompared && !one && link(other, _("Show all")),
  );
}

/**
 * One value of a tree, and what is below it.
 * @param {{label?: string, one: TreeNode|null, other: TreeNode|null, isCompared: boolean, isOpen?: boolean}} props
 */
function TreeItem({ label, one, other, isCompared, isOpen = false }) {
  const isSame = !isCompared || JSON.stringify(one) === JSON.stringify(other);
  const node = /** @type {TreeNode} */ (one ?? other);
  const isPair = isSame || (one !== null && other !== null && one.kind === other.kind);
  const head = h(Fragment, null, label !== undefined && h("span", { className: "tree-key" }, label));
  if (!isPair || !isContainer(node) || node.count === 0)
    return h("li", null,
      head,
      isSame ? describeNode(node) : h(Changed, { before: describeNode(one), after: describeNode(other) }),
    );
  const keys = [...new Set([...listKeys(one), ...(isSame ? [] : listKeys(other))])];
  const hidden = Math.max(one?.count ?? 0, other?.count ?? 0) - keys.length;
  const find = (side, key) => side?.items.find(([name]) => name === key)?.[1] ?? null;
  // else one of them may be behind the cut
  const isKnown = (key) => [one, other].every((side) => find(side, key) || !side?.digest);
  return h("li", null,
    h("details", { open: isOpen || !isSame, "data-changed": !isSame || undefined },
      h("summary", null,
        head,
        h("span", { className: "quiet" },
          isSame || one?.count === other?.count ? countItems(node) : `${countItems(one)} → ${countItems(other)}`,
        ),
      ),
      h("ul", null,
        keys.map((key) =>
          h(TreeItem, {
            key, label: key, one: find(one, key), other: isSame ? null : find(other, key),
            isCompared: !isSame && isKnown(key),
          }),
        ),
        hidden > 0 && h("li", { className: "quiet" }, _("… {items}", { items: formatCount(hidden, "more item") })),
      ),
    ),
  );
}

const NOUNS = { object: "field", list: "item", messages: "message" };
const isContainer = ({ kind }) => kind in NOUNS;
const listKeys = (node) => (node?.items ?? []).map(([key]) => key);
/** @param {TreeNode|null} node */
const countItems = (node) => node && formatCount(node.count, NOUNS[node.kind]);

function describeNode(node) {
  if (node === null) return null;
  if (isContainer(node)) return node.count === 0 ? (node.kind === "object" ? "{}" : "[]") : countItems(node);
  if (node.kind === "other") return node.text;
  return node.count > node.text.length
    ? _("“{text}…” ({characters})", { text: node.text, characters: formatCount(node.count, "character") })
    : _("“{text}”", { text: node.text });
}

/** A value before and after; null where there is none. */
const Changed = ({ before, after }) =>
  h(
    Fragment,
    null,
    before !== null && h("del", null, before),
    before !== null && after !== null && " → ",
    after !== null && h("ins", null, after),
  );
