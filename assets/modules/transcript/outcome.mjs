/** Banners under the last message: how the answer ended, the last operation, a rerun, and what was removed. */
import { buildAddress } from "../browser/addresses.mjs";
import { button, iconButton } from "../controls/buttons.mjs";
import { icon, withIcon } from "../controls/icons.mjs";
import { comparePlace } from "../dialogs/places.mjs";
import { FullText } from "../message/full-text.mjs";
import { formatCount } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { describeSpeaker } from "./message.mjs";

const { createElement: h } = window.React;

const quiet = (label, onClick, more = {}) => button("quiet-button", label, onClick, more);

/** @param {{rerun: import("../state/types.mjs").RerunView, act: Function}} props */
export function RerunBanner({ rerun, act }) {
  return h(
    "div",
    { className: "outcome rerun", role: "status", "data-testid": "rerun" },
    icon("arrow-repeat"),
    h("div", { className: "outcome-text" }, h("p", { title: rerun.model }, rerun.text)),
    h(
      "div",
      { className: "outcome-buttons" },
      rerun.asking && quiet(_("Stop asking"), () => act("stop-rerun")),
      !rerun.asking && !rerun.complete && !rerun.waiting && quiet(_("Go on"), () => act("continue-rerun")),
      !rerun.asking && quiet(_("Compare"), () => comparePlace(rerun.place)),
      rerun.closable && !rerun.asking && quiet(_("Dismiss"), () => act("dismiss")),
    ),
  );
}

/** @param {{data: import("../state/types.mjs").TranscriptData}} props */
export function PrintNote({ data: { thread, earlier, later } }) {
  if (!earlier && !later) return null;
  const missing = earlier && later ? _("Earlier and later") : earlier ? _("Earlier") : _("Later");
  return h(
    "p",
    { className: "print-note" },
    _("{missing} messages are not in this print. For the whole conversation, open ", { missing }),
    h("a", { href: buildAddress(thread) }, buildAddress(thread)),
    _(" and choose Export, “HTML, to read anywhere”."),
  );
}

/** @param {{removed: import("../state/types.mjs").RemovedPartView, act: Function|null}} props */
function RemovedPart({ removed: { messages, count, address }, act }) {
  const title = _("{messages} removed", { messages: formatCount(count, "message") });
  const hidden = count - messages.length;
  const noun = messages.length > 0 ? "more message" : "message";
  return h(
    "div",
    { className: "removed-part", role: "group", "aria-label": title, "data-testid": "removed" },
    messages.map(({ id, role, person, text }) =>
      h("p", { key: id, className: `removed-message removed-${role}` },
        h("span", { className: "visually-hidden" }, _("Removed. {role}: ", { role: describeSpeaker({ role, person }) })),
        text,
      ),
    ),
    h("p", { className: "removed-more" },
      hidden > 0
        ? _("{messages}, until you write or undo", { messages: formatCount(hidden, noun) })
        : _("Until you write or undo"),
      h(FullText, { name: _("Open"), title, address, act }),
    ),
  );
}

/** The end of a conversation: the banner about its last change, and what this removed. */
export function TimeEnd({ banner, removed, act }) {
  return (banner || removed) && h("div", { className: "time-end" }, banner, removed && h(RemovedPart, { removed, act }));
}

const REPEATING_TEXT = _(
  "Another try runs nodes of the graph again: what they did outside of this conversation may happen twice.",
);

/**
 * How the newest run ended, if it ended badly, with buttons to continue or retry. They wait until the data has the end:
 * before that the server may refuse them (it could not save the end yet), and `last` may not be what the run left.
 * @param {{run: import("../state/types.mjs").RunView, isInData: boolean, isGraph?: boolean,
 *   isAlone?: boolean, last: import("../state/types.mjs").MessageView|undefined, act: Function, onDismiss: Function}} props
 */
export function Outcome({ run, isInData, isGraph, isAlone, last, act, onDismiss }) {
  // Cut off in its text or after its tool calls. The results of finished tools are kept, and no tool runs again by itself.
  const isCut = last?.role === "assistant" && (last.state === "partial" || last.tools.length > 0);
  const isError = run.state === "failed" && Boolean(run.error);
  const isAtLimit = run.state === "stopped" && Boolean(run.error); // the agent goes on with a fresh budget
  const canContinue = isAtLimit || isCut;
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
        canContinue && !run.compacts && quiet(_("Continue"), () => act("continue")),
        (isError || !canContinue) && !run.compacts && quiet(withIcon("arrow-repeat", _("Retry")), () => act("retry")),
        quiet(_("Dismiss"), dismiss),
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
 * @param {{notice: import("../state/types.mjs").Notice, act: Function}} props
 */
export function NoticeBanner({ notice, act }) {
  const { text, place = "" } = notice;
  const [before, ...after] = place === "" ? [text] : text.split(place);
  return h(
    "div",
    { className: "notice", role: "status" },
    icon("signpost-split"),
    h("p", null, before, after.length > 0 && h("strong", null, place), after.join(place)),
    quiet(withIcon("undo", _("Undo")), () => act("undo"), { "data-testid": "undo" }),
    notice.keepable && button("quiet-button keep", _("Keep as branch"), () => act("keep-removed")),
    iconButton("x-lg", _("Close notice"), () => act("close-notice"), { title: _("Close") }),
  );
}
