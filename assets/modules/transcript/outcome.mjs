/** Banners under the last message: how the answer ended, the last operation, a rerun, and what was removed. */
import { buildAddress } from "../browser/addresses.mjs";
import { icon } from "../controls/icons.mjs";
import { comparePlace } from "../dialogs/places.mjs";
import { FullText } from "../message/full-text.mjs";
import { formatCount } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { describeSpeaker } from "./message.mjs";

const { createElement: h, useState } = window.React;

/** @param {{rerun: import("../state/types.mjs").RerunView, act: Function}} props */
export function RerunBanner({ rerun, act }) {
  const button = (label, onClick) => h("button", { type: "button", className: "quiet-button", onClick }, label);
  return h(
    "div",
    { className: "outcome rerun", role: "status", "data-testid": "rerun" },
    icon("arrow-repeat"),
    h("div", { className: "outcome-text" }, h("p", { title: rerun.model }, rerun.text)),
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

const { createPortal } = window.ReactDOM;

/** @param {{removed: import("../state/types.mjs").RemovedPartView, act: Function|null}} props */
function RemovedPart({ removed: { messages, count, address }, act }) {
  const [isOpen, setOpen] = useState(false);
  const hidden = count - messages.length;
  return h(
    "div",
    {
      className: "removed-part", role: "group",
      "aria-label": _("{messages} removed", { messages: formatCount(count, "message") }), "data-testid": "removed",
    },
    messages.map(({ id, role, person, text }) =>
      h(
        "p",
        { key: id, className: `removed-message removed-${role}` },
        h("span", { className: "visually-hidden" }, _("Removed. {role}: ", { role: describeSpeaker({ role, person }) })),
        text,
      ),
    ),
    h(
      "p",
      { className: "removed-more" },
      hidden > 0
        ? _("{messages}, until you write or undo", {
            messages: formatCount(hidden, messages.length > 0 ? "more message" : "message"),
          })
        : _("Until you write or undo"),
      h("button", { type: "button", className: "text-button", onClick: () => setOpen(true) }, _("Open")),
    ),
    isOpen &&
      createPortal(
        h(FullText, {
          title: _("{messages} removed", { messages: formatCount(count, "message") }), address, act,
          onClose: () => setOpen(false),
        }),
        document.body,
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
 * @param {{notice: import("../state/types.mjs").Notice, act: Function}} props
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
