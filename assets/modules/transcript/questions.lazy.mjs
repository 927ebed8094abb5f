/** The questions of a user graph that waits: decisions about calls, a form, or an answer as text or JSON. */
import { useSinglePress } from "../lib/single-press.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { useRequest } from "../lib/tracked-request.mjs";
import { _ } from "../lib/words.mjs";
import { Prose } from "../message/prose.mjs";

const { createElement: h, useId, useRef, useState } = window.React;

const MAX_ROWS = 12;
const DECISIONS = { approve: _("Approve"), edit: _("Change arguments"), respond: _("Answer instead"), reject: _("Reject") };
const NOT_JSON_TEXT = _("This is not a JSON object.");

loadStyle(new URL("./questions.lazy.css", import.meta.url));

/**
 * @typedef {import("../lib/types.mjs").QuestionView} QuestionView
 * @typedef {import("../lib/types.mjs").ActionView} ActionView
 * @typedef {{kind: string, arguments?: object, text?: string}} Decision  about one call
 * @param {{questions: QuestionView[], drafts?: import("../lib/types.mjs").DraftView[],
 *   reply?: import("../lib/types.mjs").Reply, act: Function}} props
 */
export function Questions({ questions, drafts = [], reply, act }) {
  // Those whose subgraph asks nothing, because others ask, stand first.
  const others = drafts.filter((draft) => !questions.some(({ id }) => draft.questions.includes(id)));
  const listOwn = (id) => drafts.filter((draft) => draft.questions.includes(id));
  const listDrafts = (id, place) => [...(place === 0 ? others : []), ...listOwn(id)];
  return h(
    "section",
    { className: "questions", "aria-label": _("The graph waits for you") },
    questions.map((question, place) =>
      h(Question, { key: question.id, question, drafts: listDrafts(question.id, place), reply, act }),
    ),
  );
}

/** The text of a subgraph that the graph does not have yet. @param {{draft: import("../lib/types.mjs").DraftView}} props */
const Draft = ({ draft: { agent, html } }) =>
  h(
    "div",
    { className: "question-draft", "data-testid": "draft" },
    h("p", { className: "question-title" }, _("Draft of {agent}", { agent })),
    h(Prose, { html }),
  );

const PARTS = {
  middleware: ActionsPart,
  inbox: ActionsPart,
  form: FormPart,
  text: TextPart,
  json: TextPart,
  continue: ContinuePart,
};

function Question({ question, drafts, reply, act }) {
  const label = useId();
  const [problem, setProblem] = useState(null);
  const { isPending, press, release } = useSinglePress();
  const onReply = (_request, { ok, text }) => ok || (release(), setProblem(text));
  const { start } = useRequest({ reply, onReply });
  const answer = (text) =>
    press(() => (setProblem(null), start({ request_id: act("answer", { call: question.id, text }) })));
  return h(
    "div",
    {
      className: "question", role: "group", "aria-labelledby": label, "data-testid": "question",
      "data-style": question.style,
    },
    drafts.map((draft, place) => h(Draft, { key: place, draft })),
    h(
      "p",
      { id: label, className: "question-title" },
      question.actions.length > 0 ? _("The graph asks for your decision.") : _("The graph asks:"),
    ),
    question.text !== "" &&
      h(question.style === "text" ? "p" : "pre", { className: "question-text", tabIndex: 0 }, question.text),
    h(PARTS[question.style], { question, isPending, answer }),
    problem && h("p", { className: "question-problem", role: "alert" }, problem),
  );
}

/** One or more calls. The answer is sent when each has a decision. */
function ActionsPart({ question, isPending, answer }) {
  const [decisions, setDecisions] = useState({});
  const decide = (place, decision) => {
    const next = { ...decisions, [place]: decision };
    setDecisions(next);
    const all = question.actions.map((_, index) => next[index]);
    if (all.every(Boolean)) answer(JSON.stringify(writeDecisions(question, all)));
  };
  return question.actions.map((action, place) =>
    h(ActionPart, {
      key: place, action, chosen: decisions[place]?.kind, isPending, onDecide: (decision) => decide(place, decision),
    }),
  );
}

/**
 * @param {QuestionView} question
 * @param {Decision[]} decisions
 * @returns {object} the answer in the schema of the question
 */
function writeDecisions({ style, actions }, decisions) {
  if (style === "inbox") return decisions.map((decision, place) => writeInboxAnswer(actions[place], decision));
  return { decisions: decisions.map((decision, place) => writeMiddlewareDecision(actions[place], decision)) };
}

function writeMiddlewareDecision({ name }, { kind, arguments: args, text }) {
  if (kind === "edit") return { type: "edit", edited_action: { name, args } };
  return text ? { type: kind, message: text } : { type: kind };
}

function writeInboxAnswer({ name }, { kind, arguments: args, text }) {
  if (kind === "edit") return { type: "edit", args: { action: name, args } };
  if (kind === "respond") return { type: "response", args: text };
  return { type: kind === "approve" ? "accept" : "ignore", args: null };
}

function ActionPart({ action, chosen, isPending, onDecide }) {
  const [form, setForm] = useState(null);
  const root = useRef(null);
  const kinds = Object.keys(DECISIONS).filter((kind) => action.decisions.includes(kind));
  const hasForm = (kind) => kind === "edit" || kind === "respond";
  const choose = (kind) => (hasForm(kind) ? setForm(form === kind ? null : kind) : onDecide({ kind }));
  const cancel = () => {
    root.current.querySelector('[aria-expanded="true"]').focus(); // before the pressed button disappears
    setForm(null);
  };
  const button = (kind) =>
    h(
      "button",
      {
        key: kind,
        type: "button",
        className: `btn ${kind === "approve" && form === null ? "btn-primary" : "btn-outline-secondary"}`,
        "aria-disabled": isPending || undefined,
        "aria-pressed": chosen === kind || undefined,
        "aria-expanded": hasForm(kind) ? form === kind : undefined,
        onClick: () => choose(kind),
      },
      DECISIONS[kind],
    );
  return h(
    "div",
    { className: "question-action", ref: root },
    h("p", null, h("strong", null, action.name), action.description && `: ${action.description}`),
    form !== "edit" && h("pre", { className: "question-text", tabIndex: 0, "aria-label": _("Arguments") }, action.arguments),
    h("div", { className: "question-buttons" }, kinds.map(button)),
    form !== null && h(DecisionForm, { key: form, kind: form, action, isPending, onDecide, onCancel: cancel }),
  );
}

/** Other arguments for a call, or an answer in its place. */
function DecisionForm({ kind, action, isPending, onDecide, onCancel }) {
  const [text, setText] = useState(kind === "edit" ? action.arguments : "");
  const [problem, setProblem] = useState(null);
  const onSubmit = (event) => {
    event.preventDefault();
    if (kind === "respond") return onDecide({ kind, text });
    const args = parseObject(text);
    return args === null ? setProblem(NOT_JSON_TEXT) : onDecide({ kind, arguments: args });
  };
  return h(
    "form",
    { className: "question-form", onSubmit },
    h(TextField, {
      label: kind === "edit" ? _("Arguments, as JSON") : _("Answer instead of the tool"), isCode: kind === "edit", text,
      hasFocus: true, onChange: setText,
    }),
    problem && h("p", { className: "question-problem", role: "alert" }, problem),
    h(
      "div",
      { className: "question-buttons" },
      h(SubmitButton, { isPending }, kind === "edit" ? _("Run with these") : _("Answer")),
      h("button", { type: "button", className: "btn btn-outline-secondary", onClick: onCancel }, _("Cancel")),
    ),
  );
}

/** @returns {object|null} the JSON object of a text */
function parseObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** A form of the fields that the answer's schema names. */
function FormPart({ question: { fields }, isPending, answer }) {
  const id = useId();
  const [values, setValues] = useState(() =>
    Object.fromEntries(fields.map(({ name, type, options }) => [name, type === "boolean" ? false : (options[0] ?? "")])),
  );
  const onSubmit = (event) => {
    event.preventDefault();
    const given = fields.filter(({ name, required }) => required || values[name] !== "");
    answer(JSON.stringify(Object.fromEntries(given.map(({ name, type }) => [name, readField(values[name], type)]))));
  };
  const change = (name) => (value) => setValues({ ...values, [name]: value });
  return h(
    "form",
    { className: "question-form", onSubmit },
    fields.map((field) =>
      h(FieldInput, {
        key: field.name, id: `${id}-${field.name}`, field, value: values[field.name], onChange: change(field.name),
      }),
    ),
    h("div", { className: "question-buttons" }, h(SubmitButton, { isPending }, _("Answer"))),
  );
}

const readField = (value, type) => (type === "number" || type === "integer" ? Number(value) : value);

function FieldInput({ id, field: { label, type, options, required }, value, onChange }) {
  if (type === "boolean") {
    return h(
      "label",
      { className: "question-check" },
      h("input", {
        type: "checkbox",
        className: "form-check-input",
        checked: value,
        onChange: (event) => onChange(event.target.checked),
      }),
      label,
    );
  }
  const shared = { id, value, required, onChange: (event) => onChange(event.target.value) };
  const input =
    options.length > 0
      ? h(
          "select",
          { className: "form-select", ...shared },
          options.map((option) => h("option", { key: option, value: option }, option)),
        )
      : h("input", {
          className: "form-control",
          type: type === "string" ? "text" : "number",
          step: type === "integer" ? 1 : "any",
          ...shared,
        });
  return h("div", null, h("label", { className: "form-label", htmlFor: id }, label), input);
}

/** An answer as text, or as any JSON. */
function TextPart({ question: { style }, isPending, answer }) {
  const [text, setText] = useState("");
  const onSubmit = (event) => {
    event.preventDefault();
    answer(style === "text" ? JSON.stringify(text) : text);
  };
  return h(
    "form",
    { className: "question-form", onSubmit },
    h(TextField, {
      label: style === "text" ? _("Your answer") : _("Your answer, as JSON or as text"), isCode: style === "json", text,
      onChange: setText,
    }),
    h("div", { className: "question-buttons" }, h(SubmitButton, { isPending }, _("Answer"))),
  );
}

function ContinuePart({ isPending, answer }) {
  return h(
    "div",
    { className: "question-buttons" },
    h(
      "button",
      { type: "button", className: "btn btn-primary", "aria-disabled": isPending || undefined, onClick: () => answer("") },
      _("Go on"),
    ),
  );
}

function TextField({ label, isCode, text, hasFocus = false, onChange }) {
  return h("textarea", {
    className: `form-control${isCode ? " question-code" : ""}`,
    "aria-label": label,
    placeholder: label,
    rows: Math.min(MAX_ROWS, text.split("\n").length + 1),
    value: text,
    autoFocus: hasFocus,
    onChange: (event) => onChange(event.target.value),
  });
}

const SubmitButton = ({ isPending, children }) =>
  h("button", { type: "submit", className: "btn btn-primary", "aria-disabled": isPending || undefined }, children);
