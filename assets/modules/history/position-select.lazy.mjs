/** The list of the places that two sides can be held against. */
import { _ } from "../lib/words.mjs";

const { createElement: h } = window.React;

export const CURRENT_POSITION = "";

/** Return the name of a place, as its list shows it. */
export function namePlace({ branches, checkpoints }, place) {
  const [kind, id] = place.split(":");
  const named = kind === "branch" ? branches : checkpoints;
  return place === CURRENT_POSITION
    ? _("Current position")
    : (named.find((each) => each.id === id)?.name ?? _("Selected place"));
}

/**
 * @param {{id: string, data: import("../lib/types.mjs").HistoryData, place: string, onChoose: (place: string) => void,
 *   none?: {place: string, name: string}}} props `none`: an entry for no place
 */
export function PositionSelect({ id, data, place, onChoose, none }) {
  const branches = data.branches.filter(({ current }) => !current);
  const option = (value, name) => h("option", { key: value, value }, name);
  const known = [
    none?.place,
    CURRENT_POSITION,
    ...branches.map(({ id }) => `branch:${id}`),
    ...data.checkpoints.map(({ id }) => `checkpoint:${id}`),
  ];
  return h(
    "select",
    { id, className: "form-select", value: place, onChange: (event) => onChoose(event.target.value) },
    none && option(none.place, none.name),
    option(CURRENT_POSITION, _("Current position")),
    !known.includes(place) && option(place, place.startsWith("message:") ? _("Selected place") : _("(no longer exists)")),
    branches.length > 0 &&
      h(
        "optgroup",
        { label: _("Branches") },
        branches.map((branch) => option(`branch:${branch.id}`, branch.name)),
      ),
    data.checkpoints.length > 0 &&
      h(
        "optgroup",
        { label: _("Checkpoints") },
        data.checkpoints.map((checkpoint) => option(`checkpoint:${checkpoint.id}`, checkpoint.name)).reverse(),
      ),
  );
}
