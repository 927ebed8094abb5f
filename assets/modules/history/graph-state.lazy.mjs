/** The state of a graph at a place: all its values, and how they differ from another place. */
import { ReadingDialog } from "../lib/dialog.mjs";
import { _ } from "../lib/words.mjs";
import { Channels, NO_PLACE } from "./channels.lazy.mjs";
import { CURRENT_POSITION, PositionSelect } from "./position-select.lazy.mjs";

const { createElement: h, useId, useState } = window.React;

/**
 * @param {{data: import("../lib/types.mjs").HistoryData, place: string, onClose: () => void}} props `place` as in
 *   comparisons
 */
export function GraphState({ data, place, onClose }) {
  const [one, setOne] = useState(place);
  const [other, setOther] = useState(place === CURRENT_POSITION ? NO_PLACE : CURRENT_POSITION);
  const id = useId();
  const select = (name, label, value, onChoose, none) =>
    h(
      "div",
      { className: "state-place" },
      h("label", { htmlFor: `${id}-${name}` }, label),
      h(PositionSelect, { id: `${id}-${name}`, data, place: value, onChoose, none }),
    );
  return h(
    ReadingDialog,
    { title: _("State of the graph"), size: "lg", className: "graph-state", onClose },
    h(
      "div",
      { className: "state-places" },
      select("one", _("State at"), one, setOne),
      select("other", _("Difference to"), other, setOther, { place: NO_PLACE, name: _("(none)") }),
    ),
    h(
      "p",
      { className: "quiet" },
      _(
        "These are states between the steps of the whole graph. Subgraphs are restored with their parent; you cannot stop inside one.",
      ),
    ),
    h(Channels, { data, one, other }),
  );
}
