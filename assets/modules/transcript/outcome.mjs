/** Banners under the last message: how the answer ended, and the last operation. */
import { icon } from "../lib/icons.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h } = window.React;
const REPEATING_TEXT = _(
  "Another try runs nodes of the graph again: what they did outside of this conversation may happen twice.",
);

/**
 * How the newest run ended, if it ended badly, with buttons to continue or retry. They wait until the data has the end:
 * before that the server may refuse them (it could not save the end yet), and `last` may not be what the run left.
 * @param {{run: import("../lib/types.mjs").RunView, isInData: boolean, isGraph?: boolean,
 *   isAlone?: boolean, last: import("../lib/types.mjs").MessageView|undefined, act: Function, onDismiss: Function}} props
 */
export function Outcome({ run, isInData, isGraph, isAlone, last, act, onDismiss }) {
  // Cut off in its text or after its tool calls. The results of finished tools are kept, and no tool runs again by itself.
  const isCut = last?.role === "assistant" && (last.state === "partial" || last.tools.length > 0);
  const isError = run.state === "failed" && Boolean(run.error);
  const isAtLimit = run.state === "stopped" && Boolean(run.error); // the agent goes on with a fresh budget
  const canContinue = isAtLimit || isCut;
  const button = (label, type, sign) =>
    h("button", { type: "button", className: "quiet-button", onClick: () => act(type) },
      sign && icon(sign),
      label,
    );
  const dismiss = () => {
    onDismiss();
    act("dismiss");
  };
  return h(
    "div",
    {
      className: `outcome${isError ? " outcome-error" : ""}`, role: isError ? "alert" : "group",
      "aria-label": _("Status of the answer"),
    },
    icon(isError ? "exclamation-triangle" : "stop-circle"),
    h("div", { className: "outcome-text" },
      h("p", null, isError || isAtLimit ? run.error : describeStop(run, isCut || !isInData, isAlone)),
      isError && run.details && h(Details, run),
      isInData && isGraph && !run.compacts && h("p", { className: "quiet" }, REPEATING_TEXT),
    ),
    isInData &&
      h("div", { className: "outcome-buttons" },
        canContinue && !run.compacts && button(_("Continue"), "continue"),
        (isError || !canContinue) && !run.compacts && button(_("Retry"), "retry", "arrow-repeat"),
        h("button", { type: "button", className: "quiet-button", onClick: dismiss }, _("Dismiss")),
      ),
  );
}

/** The provider's words, as text. @param {{details: string}} props */
const Details = ({ details }) =>
  h(
    "details",
    { className: "fold" },
    h("summary", null, icon("chevron-right", "fold-arrow"), _("Details")),
    h("p", { "data-testid": "error-details" }, details),
  );

/** `isAlone`: nobody else could have stopped it. */
function describeStop(run, isCut, isAlone) {
  if (run.compacts) return _("Summarising was stopped. Nothing was changed.");
  if (run.state === "stopped" && isAlone)
    return isCut ? _("You stopped this answer.") : _("You stopped this answer before it began.");
  if (run.state === "stopped") return isCut ? _("This answer was stopped") : _("This answer was stopped before it began");
  return isCut ? _("This answer was cut off") : _("This answer was cut off before it began");
}

/**
 * The last operation, if it removed messages, with its undo.
 * @param {{notice: import("../lib/types.mjs").Notice, act: Function}} props
 */
export function NoticeBanner({ notice, act }) {
  return h(
    "div",
    { className: "notice", role: "status" },
    icon("signpost-split"),
    h(NoticeText, { notice }),
    h(
      "button",
      { type: "button", className: "quiet-button", "data-testid": "undo", onClick: () => act("undo") },
      icon("undo"),
      _("Undo"),
    ),
    notice.keepable &&
      h(
        "button",
        { type: "button", className: "quiet-button keep", onClick: () => act("keep-removed") },
        _("Keep as branch"),
      ),
    h(
      "button",
      {
        type: "button", className: "icon-button", "aria-label": _("Close notice"), title: _("Close"),
        onClick: () => act("close-notice"),
      },
      icon("x-lg"),
    ),
  );
}

/** The text, with the restored place in bold. */
function NoticeText({ notice: { text, place } }) {
  const start = place ? text.indexOf(place) : -1;
  if (start < 0) return h("p", null, text);
  return h("p", null, text.slice(0, start), h("strong", null, place), text.slice(start + place.length));
}
