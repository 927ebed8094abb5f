/** The line under a message: its time, its cost and its actions. */
import { button, iconButton } from "../controls/buttons.mjs";
import { copyLink, copyText, explainSelection } from "../controls/copying.mjs";
import { icon } from "../controls/icons.mjs";
import { MoreButton } from "../controls/menu.mjs";
import { showToast } from "../controls/toast.mjs";
import { openPrompts } from "../dialogs/prompts.mjs";
import { fetchWholeText } from "../message/show-all.mjs";
import { useSinglePress } from "../requests/tracked-request.mjs";
import { saveAtMessage } from "../state/history-requests.mjs";
import { getOpenThread } from "../state/show-message.mjs";
import { formatClockTime, formatDateTime, formatDollars, formatNumber, formatUsage } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { findMessage } from "./scroll-to-message.mjs";

const { Fragment, createElement: h, useEffect, useRef, useState } = window.React;

const COPIED_FOR_MS = 1600;
const LITTLE_ROOM = "(hover: none), (width < 64em)"; // the same as in message.css

/** Copy a message's text. @returns {Promise<boolean>} whether it was copied */
async function copyMessage(message, announce) {
  const text = await fetchWholeText(message);
  const done = text !== null && (await copyText(text, findMessage(message.id)?.querySelector(":scope > .prose")));
  if (done) announce(_("Message copied"));
  else if (text !== null) showToast(explainSelection());
  return done;
}

/** Copy a message's text, and show the result for a moment. */
export function CopyButton({ message, announce, name = _("Copy message"), hasWords = false }) {
  const [copied, setCopied] = useState(null);
  const onClick = async () => {
    setCopied(await copyMessage(message, announce));
    setTimeout(setCopied, COPIED_FOR_MS, null);
  };
  const sign = copied === null ? "copy" : copied ? "check-lg" : "exclamation-circle";
  const word = copied === null ? _("Copy") : copied ? _("Copied") : _("Not copied");
  return h(ActionButton, { name, sign, word: hasWords ? word : null, onClick });
}

/**
 * An action, in a word where there is room.
 * @param {{name: string, sign: string, word?: string|null, onClick: () => void, className?: string}} props
 */
function ActionButton({ name, sign, word = null, onClick, className = "", ...hooks }) {
  const onSingleClick = (event) => event.detail < 2 && onClick(); // a double click is one request
  if (word === null) return iconButton(sign, name, onSingleClick, { className, ...hooks });
  return button(`text-button ${className}`.trim(), word, onSingleClick, { "aria-label": name, title: name, ...hooks });
}

/** Switch between the alternatives of a message: its edits or its repeated answers. */
function Alternatives({ message, act, announce }) {
  const { id, siblings } = message;
  const place = siblings.indexOf(id);
  const label = _("Alternative {place} of {siblings}", { place: place + 1, siblings: siblings.length });
  const chosen = useRef(null);
  const { press, release } = useSinglePress();
  useEffect(() => {
    release();
    if (chosen.current === id) announce(label); // once it is shown: the server may refuse it
  }, [id]);
  const choose = (target) => {
    if (target in siblings) press(() => act("choose", { message: (chosen.current = siblings[target]) }));
  };
  const arrow = (name, target, className = "") => {
    const isOff = target in siblings ? undefined : true;
    return iconButton("chevron-right", name, () => choose(target), { className, "aria-disabled": isOff });
  };
  return h(
    "div",
    { className: "alternatives", role: "group", "aria-label": label },
    arrow(_("Previous alternative"), place - 1, "turned"),
    h("span", null, `${place + 1}/${siblings.length}`),
    arrow(_("Next alternative"), place + 1),
  );
}

const ratings = new Map(); // of answers, by message id; only Langfuse keeps them longer than the page

/** The user's rating of a traced answer, and the link to its trace. */
function Rating({ message: { id, trace }, act }) {
  const [good, setGood] = useState(ratings.get(id) ?? null);
  const rate = (next) => {
    ratings.set(id, next);
    setGood(next);
    act("feedback", { message: id, good: next });
  };
  const thumb = (name, sign, value) => {
    const isPressed = good === value;
    const onClick = () => rate(isPressed ? null : value);
    return h(ActionButton, { name, sign: isPressed ? `${sign}-fill` : sign, "aria-pressed": isPressed, onClick });
  };
  const link = { href: trace, target: "_blank", rel: "noreferrer", "aria-label": _("Open trace"), title: _("Open trace") };
  return h(
    Fragment,
    null,
    thumb(_("Good answer"), "hand-thumbs-up", true),
    thumb(_("Bad answer"), "hand-thumbs-down", false),
    trace !== "" && h("a", { className: "icon-button", ...link }, icon("box-arrow-up-right")),
  );
}

export function Usage({ usage }) {
  const cost = usage.cost === null ? "" : ` · ${formatDollars(usage.cost)}`;
  const title = `${formatUsage(usage)}${cost}`;
  const numbers = { input: formatNumber(usage.input), output: formatNumber(usage.output), cost };
  return h(
    "span",
    { className: "usage", title },
    h("span", { "aria-hidden": true }, _("{input} in · {output} out{cost}", numbers)),
    h("span", { className: "visually-hidden" }, title),
  );
}

/** Rarely needed actions, in a menu. Where there is little room, it has all of them. */
function MoreActions({ message: { id, role, text }, act, others, isLast, isReadOnly, isReader, readText }) {
  const isHere = isLast && role !== "user"; // a question is taken back: it returns to the field
  const savePrompt = (whole) => whole !== null && openPrompts(whole);
  const changes = (...items) => (isReadOnly ? [] : items);
  const items = () => [
    ...(matchMedia(LITTLE_ROOM).matches ? others : []),
    ...changes([_("Save checkpoint here"), () => saveAtMessage({ message: id, quote: text })]),
    ...(isHere ? [] : changes([_("Restore to here"), () => act("restore", { message: id })])),
    [_("Copy link"), () => copyLink(getOpenThread(), { message: id })],
    ...changes(
      [_("Summarise from here"), () => act("summarise", { message: id, side: "from" })],
      [_("Summarise up to here"), () => act("summarise", { message: id, side: "up_to" })],
    ),
    ...(isReader ? [] : [[_("Save as a prompt"), async () => savePrompt(await readText())]]),
  ];
  return h(MoreButton, { name: _("More"), list: items });
}

/** The actions of a message, and those that its menu has as well where there is little room. */
function Actions({ message, isUnanswered, act, announce, onEdit, isLast, isReadOnly, isReader }) {
  const { id, role, text } = message;
  const isUser = role === "user";
  const readText = async () => {
    const whole = message.more ? await fetchWholeText(message) : text;
    if (whole === null) announce(_("Couldn't load the text"));
    return whole;
  };
  const edit = async () => {
    if (!message.more) return onEdit(message);
    const whole = await readText();
    return whole !== null && onEdit({ ...message, text: whole });
  };
  const fork = () => act("fork", { message: id });
  const others = [
    ...(isUser && text !== "" ? [[_("Copy message"), () => copyMessage(message, announce)]] : []),
    ...(isUser && !isReadOnly ? [[_("Edit message"), edit]] : []),
    ...(isReadOnly ? [] : [[_("Branch from here"), fork]]),
  ];
  return h(
    "span",
    { className: "foot-actions" },
    text !== "" && h(CopyButton, { message, announce, hasWords: !isUser }),
    !isReadOnly && (isUser
      ? h(ActionButton, { name: _("Edit message"), sign: "pencil", className: "edit-button", onClick: edit })
      : h(ActionButton, { name: _("Answer again"), word: _("Again"), onClick: () => act("regenerate", { message: id }) })),
    isUnanswered && h(ActionButton, { name: _("Answer again"), sign: "arrow-repeat", onClick: () => act("retry") }),
    message.trace !== null && h(Rating, { message, act }),
    !isReadOnly && h(ActionButton, {
      name: _("Branch from here"), sign: "diagram-2", word: isUser ? null : _("Branch"), className: "fork-button",
      "data-testid": "fork", onClick: fork,
    }),
    h(MoreActions, { message, act, others, isLast, isReadOnly, isReader, readText }),
  );
}

/**
 * @param {{message: import("../state/types.mjs").MessageView, isUnanswered: boolean, announce: (text: string) => void,
 *   act: Function, onEdit: Function, isLast: boolean, modelName: string|null, isReadOnly?: boolean, isReader?: boolean}}
 *   props  `isReadOnly`: nothing is offered that would be refused; `isReader`: of all conversations, also of prompts
 */
export function MessageFoot(props) {
  const { message, announce, act, modelName, isReadOnly } = props;
  const { role, model, time, usage } = message;
  const alternatives = message.siblings.length > 1 && !isReadOnly && h(Alternatives, { message, act, announce });
  return h(
    "footer",
    { className: "message-foot" },
    message.state === "partial" && h("span", { className: "cut-off" }, _("Cut off")),
    role !== "user" && alternatives,
    modelName !== null &&
      h("span", { className: "foot-model", title: model },
        h("span", { className: "visually-hidden" }, _("Model: ")),
        modelName,
      ),
    h("time", { dateTime: time, title: formatDateTime(time) }, formatClockTime(time)),
    usage !== null && h(Usage, { usage }),
    h(Actions, props),
    role === "user" && alternatives,
  );
}
