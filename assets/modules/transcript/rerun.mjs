/** How far a rerun is: the questions that are asked again, and the comparison with the answers before. */
import { comparePlace } from "../dialogs/places.mjs";
import { icon } from "../lib/icons.mjs";
import { nameModel } from "../lib/model-names.mjs";
import { _, ngettext } from "../lib/words.mjs";

const { createElement: h } = window.React;

/** @param {{rerun: import("../lib/types.mjs").RerunView, act: Function}} props */
export function RerunBanner({ rerun, act }) {
  const button = (label, onClick) => h("button", { type: "button", className: "quiet-button", onClick }, label);
  return h(
    "div",
    { className: "outcome rerun", role: "status", "data-testid": "rerun" },
    icon("arrow-repeat"),
    h("div", { className: "outcome-text" }, h("p", { title: rerun.model }, describeRerun(rerun))),
    h(
      "div",
      { className: "outcome-buttons" },
      rerun.asking && button(_("Stop asking"), () => act("stop-rerun")),
      !rerun.asking && !rerun.complete && !rerun.waiting && button(_("Go on"), () => act("continue-rerun")),
      !rerun.asking && button(_("Compare"), () => comparePlace(rerun.place)),
      rerun.closable && !rerun.asking && button(_("Dismiss"), () => act("dismiss")),
    ),
  );
}

/** "Asking again on gpt-5: question 3 of 7" */
function describeRerun({ number, total, asking, waiting, complete, model: spec }) {
  const model = nameModel(spec);
  const values = { number, total, model };
  if (asking) return describeAsking(values, waiting);
  const left = total - number;
  const on = model ? _(" on {model}", { model }) : "";
  if (complete)
    return ngettext("The question was asked again{on}.", "All {count} questions were asked again{on}.", total, { on });
  const rest = left === 0 ? "" : ngettext(" The last one was not.", " The other {count} were not.", left);
  return (
    ngettext(
      "{count} of {total} questions was asked again{on}.",
      "{count} of {total} questions were asked again{on}.",
      number,
      { total, on },
    ) + rest
  );
}

function describeAsking(values, isWaiting) {
  const place = values.model
    ? _("Asking again on {model}: question {number} of {total}", values)
    : _("Asking again: question {number} of {total}", values);
  return isWaiting ? _("{place} waits for your permission", { place }) : place;
}
