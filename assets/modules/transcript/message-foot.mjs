/** The line under a message: its time, its cost and its actions. */
import { copyLink, copyText, explainSelection } from "../controls/copying.mjs";
import { icon } from "../controls/icons.mjs";
import { Menu } from "../controls/menu.mjs";
import { showToast } from "../controls/toast.mjs";
import { openPrompts } from "../dialogs/prompts.mjs";
import { fetchWholeText } from "../message/show-all.mjs";
import { useSinglePress } from "../requests/tracked-request.mjs";
import { saveAtMessage } from "../state/history-requests.mjs";
import { getOpenThread } from "../state/show-message.mjs";
import { formatClockTime, formatDateTime, formatDollars, formatNumber, formatUsage } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { Fragment, createElement: h, useEffect, useRef, useState } = window.React;

const COPIED_FOR_MS = 1600;
const LITTLE_ROOM = "(hover: none), (width < 64em)"; // the same as in message.css

/** Copy a message's text. @returns {Promise<boolean>} whether it was copied */
async function copyMessage(message, announce) {
  const text = await fetchWholeText(message);
  const shown = document.querySelector(`[data-message-id="${CSS.escape(message.id)}"] > .prose`);
  const done = text !== null && (await copyText(text, shown));
  if (done) announce(_("Message copied"));
  else if (text !== null) showToast(explainSelection());
  return done;
}

/** Copy a message's text, and show the result for a moment. */
export function CopyButton({ message, announce, name = _("Copy message"), hasWords = false }) {
  const [copied, setCopied] = useState(null);
  useEffect(() => {
    if (copied === null) return undefined;
    const timer = setTimeout(() => setCopied(null), COPIED_FOR_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const sign = copied === null ? "copy" : copied ? "check-lg" : "exclamation-circle";
  const word = copied === null ? _("Copy") : copied ? _("Copied") : _("Not copied");
  return h(ActionButton, {
    name, sign, word: hasWords ? word : null,
    onClick: async () => setCopied(await copyMessage(message, announce)),
  });
}

/**
 * An action, in a word where there is room.
 * @param {{name: string, sign: string, word?: string|null, onClick: () => void, className?: string}} props
 */
function ActionButton({ name, sign, word = null, onClick, className = "", ...hooks }) {
  const onSingleClick = (event) => event.detail < 2 && onClick(); // a double click is one request
  const look = { className: `${word ? "text-button" : "icon-button"} ${className}`.trim(), title: name };
  return h("button", { type: "button", "aria-label": name, ...look, ...hooks, onClick: onSingleClick }, word ?? icon(sign));
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
  const arrow = (name, target, turn = "") =>
    h(
      "button",
      {
        type: "button", className: `icon-button${turn}`, "aria-label": name, title: name,
        "aria-disabled": target in siblings ? undefined : true, onClick: () => choose(target),
      },
      icon("chevron-right"),
    );
  return h(
    "div",
    { className: "alternatives", role: "group", "aria-label": label },
    arrow(_("Previous alternative"), place - 1, " turned"),
    h("span", null, `${place + 1}/${siblings.length}`),
    arrow(_("Next alternative"), place + 1),
  );
}

const ratings = new Map(); // of answers, by message id; only Langfuse keeps them longer than the page

/** The user's rating of a traced answer, and the link to its trace. */
function Rating({ message, act }) {
  const { id, trace } = message;
  const [good, setGood] = useState(ratings.get(id) ?? null);
  const thumb = (name, sign, value) => {
    const isPressed = good === value;
    const rate = () => {
      const next = isPressed ? null : value;
      ratings.set(id, next);
      setGood(next);
      act("feedback", { message: id, good: next });
    };
    return h(ActionButton, { name, sign: isPressed ? `${sign}-fill` : sign, "aria-pressed": isPressed, onClick: rate });
  };
  return h(
    Fragment,
    null,
    thumb(_("Good answer"), "hand-thumbs-up", true),
    thumb(_("Bad answer"), "hand-thumbs-down", false),
    trace !== "" &&
      h(
        "a",
        {
          className: "icon-button", href: trace, target: "_blank", rel: "noreferrer", "aria-label": _("Open trace"),
          title: _("Open trace"),
        },
        icon("box-arrow-up-right"),
      ),
  );
}

/** The model that wrote an answer. @param {{spec: string, name: string}} props */
const ModelName = ({ spec, name }) =>
  h("span", { className: "foot-model", title: spec },
    h("span", { className: "visually-hidden" }, _("Model: ")),
    name);

export function Usage({ usage }) {
  const cost = usage.cost === null ? "" : ` · ${formatDollars(usage.cost)}`;
  const title = `${formatUsage(usage)}${cost}`;
  return h(
    "span",
    { className: "usage", title },
    h(
      "span",
      { "aria-hidden": true },
      _("{input} in · {output} out{cost}", { input: formatNumber(usage.input), output: formatNumber(usage.output), cost }),
    ),
    h("span", { className: "visually-hidden" }, title),
  );
}

/** Rarely needed actions, in a menu that is fetched when it opens. Where there is little room, it has all of them. */
function MoreActions({ message: { id, role, text }, act, others, isLast, isReadOnly, isReader, readText }) {
  const [isOpen, setOpen] = useState(false);
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
  const name = _("More");
  return h(
    "span",
    { className: "more" },
    h(
      "button",
      {
        type: "button", className: "icon-button", "aria-label": name, title: name, "aria-haspopup": "menu",
        "aria-expanded": isOpen, onClick: () => setOpen(true),
      },
      icon("three-dots"),
    ),
    isOpen && h(Menu, { name, items: items(), onClose: () => setOpen(false) }),
  );
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
  const { message, announce, act, modelName, isReadOnly = false } = props;
  const alternatives = message.siblings.length > 1 && !isReadOnly && h(Alternatives, { message, act, announce });
  const actions = h(Actions, props);
  return h(
    "footer",
    { className: "message-foot" },
    message.state === "partial" && h("span", { className: "cut-off" }, _("Cut off")),
    message.role !== "user" && alternatives,
    modelName !== null && h(ModelName, { spec: message.model, name: modelName }),
    h("time", { dateTime: message.time, title: formatDateTime(message.time) }, formatClockTime(message.time)),
    message.usage !== null && h(Usage, { usage: message.usage }),
    actions,
    message.role === "user" && alternatives,
  );
}
