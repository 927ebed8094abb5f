/** Decisions about the calls that a graph asks about. */
import { Decisions } from "../message/decisions.mjs";
import { writeObject } from "../words/field-values.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useState } = window.React;

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
    return writeObject({ type: '"edit"', args: writeObject({ action: JSON.stringify(name), args: String(args) }) });
  }
  if (kind === "respond") return JSON.stringify({ type: "response", args: text });
  return JSON.stringify({ type: kind === "approve" ? "accept" : "ignore", args: null });
}

function ActionPart({ action, chosen, isPending, findText, onText, onDecide }) {
  const kinds = Object.keys(DECISIONS).filter((kind) => action.decisions.includes(kind));
  const choices = kinds.map((kind) => ({
    kind, name: DECISIONS[kind], isMain: kind === "approve", isPressed: chosen === kind,
    ...(FORMS.includes(kind) ? { form: buildForm(kind, action, findText, onText, onDecide) }
      : { decide: () => onDecide({ kind }) }),
  }));
  return h(
    Decisions,
    {
      className: "question-action", choices, isPending, opened: FORMS.find(findText), // that of a text that was kept
      onCancel: (kind) => onText(kind, undefined),
    },
    h("p", null, h("strong", null, action.name), action.description && `: ${action.description}`),
    h("pre", { className: "question-text", tabIndex: 0, "aria-label": _("Arguments") }, action.arguments),
  );
}

/** Other arguments for a call, or an answer in its place. */
function buildForm(kind, action, findText, onText, onDecide) {
  const text = findText(kind);
  if (kind === "respond")
    return {
      label: _("Answer instead of the tool"), isCode: false, text: text ?? "",
      onText: (typed) => onText(kind, typed), onSend: (sent) => onDecide({ kind, text: sent }),
    };
  return {
    label: _("Arguments, as JSON"), action: _("Run with these"), isCode: true, text: text ?? action.arguments,
    findProblem: (sent) => (isObject(sent) ? null : NOT_JSON_TEXT),
    onText: (typed) => onText(kind, typed === action.arguments ? undefined : typed),
    onSend: (sent) => onDecide({ kind, arguments: sent }),
  };
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
