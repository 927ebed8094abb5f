/** Decisions about the calls that a graph asks about. */
import { writeObject } from "../words/field-values.mjs";
import { _ } from "../words/words.mjs";
import { TextForm } from "./question-fields.mjs";

const { createElement: h, useRef, useState } = window.React;

const DECISIONS = { approve: _("Approve"), edit: _("Change arguments"), respond: _("Answer instead"), reject: _("Reject") };
const FORMS = ["edit", "respond"];
const NOT_JSON_TEXT = _("This is not a JSON object.");

/**
 * @typedef {import("../state/types.mjs").QuestionView} QuestionView
 * @typedef {{kind: string, arguments?: string, text?: string}} Decision  about one call; `arguments` are JSON
 */

/** One or more calls. The answer is sent when each has a decision. */
export function ActionsPart({ question, texts, onText, isPending, answer }) {
  const [decisions, setDecisions] = useState({});
  const decide = (place, decision) => {
    const next = { ...decisions, [place]: decision };
    setDecisions(next);
    const all = question.actions.map((_, index) => next[index]);
    if (all.every(Boolean)) answer(writeDecisions(question, all));
  };
  return question.actions.map((action, place) =>
    h(ActionPart, {
      key: place, action, chosen: decisions[place]?.kind, isPending, onDecide: (decision) => decide(place, decision),
      findText: (kind) => texts[nameText(place, kind)], onText: (kind, text) => onText({ [nameText(place, kind)]: text }),
    }),
  );
}

const nameText = (place, kind) => `${place} ${kind}`;

/**
 * @param {QuestionView} question
 * @param {Decision[]} decisions
 * @returns {string} the answer in the schema of the question, as JSON
 */
function writeDecisions({ style, actions }, decisions) {
  const write = style === "inbox" ? writeInboxAnswer : writeMiddlewareDecision;
  const list = `[${decisions.map((decision, place) => write(actions[place], decision)).join(",")}]`;
  return style === "inbox" ? list : writeObject({ decisions: list });
}

/** @param {import("../state/types.mjs").ActionView} action @param {Decision} decision */
function writeMiddlewareDecision({ name }, { kind, arguments: args, text }) {
  if (kind !== "edit") return JSON.stringify(text ? { type: kind, message: text } : { type: kind });
  return writeObject({ type: '"edit"', edited_action: writeObject({ name: JSON.stringify(name), args: String(args) }) });
}

/** @param {import("../state/types.mjs").ActionView} action @param {Decision} decision */
function writeInboxAnswer({ name }, { kind, arguments: args, text }) {
  if (kind === "edit") {
    const changed = writeObject({ action: JSON.stringify(name), args: String(args) });
    return writeObject({ type: '"edit"', args: changed });
  }
  if (kind === "respond") return JSON.stringify({ type: "response", args: text });
  return JSON.stringify({ type: kind === "approve" ? "accept" : "ignore", args: null });
}

function ActionPart({ action, chosen, isPending, findText, onText, onDecide }) {
  const [form, setForm] = useState(() => FORMS.find(findText) ?? null); // that of a text that was kept
  const root = useRef(null);
  const isPressed = useRef(false); // a form that is there again leaves the focus where it is
  const kinds = Object.keys(DECISIONS).filter((kind) => action.decisions.includes(kind));
  const choose = (kind) => {
    isPressed.current = true;
    if (FORMS.includes(kind)) setForm(form === kind ? null : kind);
    else onDecide({ kind });
  };
  const cancel = () => {
    root.current.querySelector('[aria-expanded="true"]').focus(); // before the pressed button disappears
    onText(form, undefined);
    setForm(null);
  };
  return h(
    "div",
    { className: "question-action", ref: root },
    h("p", null, h("strong", null, action.name), action.description && `: ${action.description}`),
    form !== "edit" && h("pre", { className: "question-text", tabIndex: 0, "aria-label": _("Arguments") }, action.arguments),
    h("div", { className: "question-buttons" },
      kinds.map((kind) => h(DecisionButton, { key: kind, kind, chosen, form, isPending, onClick: () => choose(kind) })),
    ),
    form !== null &&
      h(DecisionForm, {
        key: form, kind: form, action, isPending, hasFocus: isPressed.current, given: findText(form),
        onText: (text) => onText(form, text), onDecide, onCancel: cancel,
      }),
  );
}

const DecisionButton = ({ kind, chosen, form, isPending, onClick }) =>
  h(
    "button",
    {
      type: "button",
      className: `btn ${kind === "approve" && form === null ? "btn-primary" : "btn-outline-secondary"}`,
      "aria-disabled": isPending || undefined,
      "aria-pressed": chosen === kind || undefined,
      "aria-expanded": FORMS.includes(kind) ? form === kind : undefined,
      onClick,
    },
    DECISIONS[kind],
  );

/** Other arguments for a call, or an answer in its place. */
function DecisionForm({ kind, action, isPending, hasFocus, given, onText, onDecide, onCancel }) {
  const isEdit = kind === "edit";
  return h(TextForm, {
    label: isEdit ? _("Arguments, as JSON") : _("Answer instead of the tool"), isCode: isEdit, isPending, hasFocus,
    action: isEdit ? _("Run with these") : undefined, text: given ?? (isEdit ? action.arguments : ""),
    findProblem: isEdit ? (text) => (isObject(text) ? null : NOT_JSON_TEXT) : undefined,
    onText: (text) => onText(isEdit && text === action.arguments ? undefined : text),
    onSend: (text) => onDecide(isEdit ? { kind, arguments: text } : { kind, text }), onCancel,
  });
}

/** @returns {boolean} whether a text is a JSON object */
function isObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
