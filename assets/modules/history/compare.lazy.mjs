/** Two positions of the conversation side by side, turn by turn: their common messages, and what differs after these. */
import { ReadingDialog } from "../lib/dialog.mjs";
import { useFetch } from "../lib/fetch.lazy.mjs";
import { formatCount, formatNumber } from "../lib/format.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { encodeThread } from "../lib/thread-ids.mjs";
import { showToast } from "../lib/toast.mjs";
import { _, ngettext } from "../lib/words.mjs";
import { Prose, runProseTool } from "../message/prose.mjs";
import { Channels } from "./channels.lazy.mjs";
import { ComparedTurns } from "./compared-turns.lazy.mjs";
import { FiguresLine } from "./figures-line.lazy.mjs";
import { CURRENT_POSITION, namePlace, PositionSelect } from "./position-select.lazy.mjs";

const { Fragment, createElement: h, useId, useState } = window.React;

const GONE_TEXT = _("One of them no longer exists.");
const SIDE_LABELS = { one: _("First position"), other: _("Second position") };

loadStyle(new URL("./compare.lazy.css", import.meta.url));

/**
 * @typedef {{spec: string, answers: number, cost: number|null}} ModelFigures
 * @typedef {import("../lib/types.mjs").Tokens & {answers: number, cost: number|null, unpriced: number,
 *   models: ModelFigures[], tools: {name: string, count: number}[], duration_ms: number}} FiguresView
 * @typedef {import("../lib/types.mjs").MessageView & {difference: "same"|"words"|"lines"|"rewritten"|"long"|null}}
 *   ComparedMessage
 * @typedef {{messages: ComparedMessage[], figures: FiguresView}} TurnView
 * @typedef {{length: number, counted: number, more: number, figures: FiguresView, turns: TurnView[]}} SideView
 */

/**
 * Places are in the server's notation: "" is the current position, otherwise "branch:ID", "checkpoint:ID" or "message:ID".
 * @param {{data: import("../lib/types.mjs").BegunHistory, place: string, act: Function, onBring: (place: string) => void,
 *   onClose: () => void}} props
 */
export function Compare({ data, place, act, onBring, onClose }) {
  const [one, setOne] = useState(place);
  const [other, setOther] = useState(CURRENT_POSITION);
  const [chosenSide, setShownSide] = useState(null);
  const { content, status } = useFetch(
    `/api/threads/${encodeThread(data.thread)}/comparison?${new URLSearchParams({ one, other })}`,
    GONE_TEXT,
    data.version,
  );
  const shownSide = chosenSide ?? findFirstSide(content); // on a narrow screen, which has room for one side
  const go = (type, target) => {
    onClose();
    act(type, target);
  };
  const bring = (place) => (onClose(), onBring(place));
  const head = (name, place, onChoose) =>
    h(SideHead, { name, data, place, onChoose, side: content?.[name], go, onBring: bring });
  const names = { one: namePlace(data, one), other: namePlace(data, other) };
  return h(ReadingDialog, { title: _("Compare"), size: "xl", className: "compare", onClose },
    h(SharedMessages, { content, status }),
    h("div", { className: "compare-head" },
      h(SideTabs, { names, shownSide, setShownSide }),
      h("div", { className: "compare-sides", "data-shown": shownSide },
        head("one", one, setOne),
        head("other", other, setOther),
      ),
    ),
    content &&
      data.has_states &&
      h("section", { className: "compare-channels" },
        h("h3", null, _("Values of the graph")),
        h(Channels, { data, one, other, isBrief: true }),
      ),
    content &&
      h("div", { "data-shown": shownSide, onClick: (event) => runProseTool(event, showToast) },
        h(ComparedTurns, { names, comparison: content }),
      ),
  );
}

/** Return the first side with messages of its own. */
const findFirstSide = (content) => (content?.one.length === 0 && content.other.length > 0 ? "other" : "one");

/** The number of common messages, and the last of them. */
const SharedMessages = ({ content, status }) =>
  h("div", { className: "compare-common" },
    h("p", { role: "status" }, status ?? describeShared(content)),
    content?.common && h("blockquote", null, h(Prose, { html: content.common })),
  );

/** "12 messages in common, the last of them:" */
function describeShared({ shared, common, one, other }) {
  if (shared + one.length + other.length === 0) return _("No differences: both are empty.");
  if (one.length + other.length === 0)
    return ngettext(
      "No differences: both have the same message.",
      "No differences: both have the same {count} messages.",
      shared,
      { count: formatNumber(shared) },
    );
  if (shared === 0 && (one.length === 0 || other.length === 0)) return _("No shared messages.");
  if (shared === 0) return _("No messages in common.");
  const values = { count: formatNumber(shared) };
  return common
    ? ngettext("{count} message in common, this one:", "{count} messages in common, the last of them:", shared, values)
    : ngettext("{count} message in common.", "{count} messages in common.", shared, values);
}

/** The names of both sides, of which a narrow screen shows one. */
function SideTabs({ names, shownSide, setShownSide }) {
  const tab = (side) =>
    h("button", { key: side, type: "button", className: "compare-tab", "aria-pressed": side === shownSide,
      onClick: () => setShownSide(side) }, names[side]);
  return h("div", { className: "compare-tabs", role: "group", "aria-label": _("Show") }, Object.keys(names).map(tab));
}

/** The place of a side, its figures, and a list to choose another place. */
function SideHead({ name, data, place, onChoose, side, go, onBring }) {
  const id = useId();
  return h(
    "section",
    { className: "compare-side", "data-side": name, "aria-labelledby": `${id}-label ${id}-length` },
    h(
      "div",
      { className: "compare-place" },
      h("label", { className: "visually-hidden", id: `${id}-label`, htmlFor: `${id}-place` }, SIDE_LABELS[name]),
      h(PositionSelect, { id: `${id}-place`, data, place, onChoose }),
      !data.read_only && h(GoButton, { place, go }),
      side?.length > 0 &&
        !data.read_only &&
        place !== CURRENT_POSITION &&
        h(
          "button", { type: "button", className: "quiet-button", onClick: () => onBring(place) },
          _("Quote in this branch…"),
        ),
    ),
    h(FiguresLine, {
      lead: h("span", { key: "length", className: "compare-length", id: `${id}-length` }, describeLength(side)),
      figures: side?.length > 0 ? side.figures : null,
    }),
    side?.counted < side?.length &&
      h(
        "p",
        { className: "quiet" },
        _("The figures are those of the first {messages}.", { messages: formatCount(side.counted, "message") }),
      ),
  );
}

function describeLength(side) {
  if (!side) return "…";
  return side.length > 0 ? formatCount(side.length, "more message") : _("No other messages");
}

/** The button that goes to a position. As everywhere, the page asks for confirmation first. */
function GoButton({ place, go }) {
  const [kind, id] = place.split(":");
  const button = (text, onClick) => h("button", { type: "button", className: "quiet-button", onClick }, text);
  if (kind === "branch") return button(_("Switch to it"), () => go("switch", { branch: id }));
  if (kind === "checkpoint") return button(_("Restore"), () => go("restore", { checkpoint: id }));
  return h(Fragment);
}
