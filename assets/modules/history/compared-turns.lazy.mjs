/** The turns of two positions in pairs; in one column where only one of them has messages. */
import { formatCount } from "../lib/format.mjs";
import { _ } from "../lib/words.mjs";
import { ReadOnlyMessage } from "../message/read-only-message.lazy.mjs";
import { FiguresLine } from "./figures-line.lazy.mjs";

const { Fragment, createElement: h } = window.React;

const SIDES = ["one", "other"];
const DIFFERENCE_TEXTS = {
  same: _("The same text"),
  lines: _("Compared line by line"),
  long: _("Too long to compare word by word"),
};

/** @param {{names: Record<string, string>, comparison: Record<string, import("./compare.lazy.mjs").SideView>}} props */
export function ComparedTurns({ names, comparison }) {
  const sides = SIDES.filter((side) => comparison[side].length > 0);
  const count = Math.max(0, ...sides.map((side) => comparison[side].turns.length));
  const turns = Array.from({ length: count }, (_, number) =>
    h(
      "div",
      { key: number, className: "compare-turn", "data-columns": sides.length },
      sides.map((side) =>
        h(Turn, { key: side, side, name: names[side], number, turn: comparison[side].turns[number], isOnly: count === 1 }),
      ),
    ),
  );
  const isCut = sides.some((side) => comparison[side].more > 0);
  const rest = sides.map((side) =>
    h(
      "p",
      { key: side, className: "quiet", "data-side": side },
      comparison[side].more > 0 && _("… and {messages} more.", { messages: formatCount(comparison[side].more, "message") }),
    ),
  );
  return h(Fragment, null, turns, isCut && h("div", { className: "compare-turn", "data-columns": sides.length }, rest));
}

/**
 * @param {{side: string, name: string, number: number, isOnly: boolean, turn?: import("./compare.lazy.mjs").TurnView}} props
 */
function Turn({ side, name, number, isOnly, turn }) {
  return h(
    "div",
    {
      className: "compare-cell", "data-side": side, role: "group",
      "aria-label": _("{name}, turn {number}", { name, number: number + 1 }),
    },
    !turn && h("p", { className: "quiet" }, _("No further messages.")),
    turn?.messages.map((message, place) =>
      h(ComparedMessage, { key: message.id, message, isNamed: message.role !== turn.messages[place - 1]?.role }),
    ),
    turn && !isOnly && h(FiguresLine, { figures: turn.figures }),
  );
}

/** @param {{message: import("./compare.lazy.mjs").ComparedMessage, isNamed: boolean}} props */
function ComparedMessage({ message, isNamed }) {
  const text = message.role === "assistant" && DIFFERENCE_TEXTS[message.difference];
  return h(Fragment, null,
    h(ReadOnlyMessage, { message, isNamed }),
    text && h("p", { className: "compare-difference" }, text),
  );
}
