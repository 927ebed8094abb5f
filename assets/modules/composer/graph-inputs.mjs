/**
 * The inputs of a user graph: typed into a form beside the message, and sent with the next one of its conversation, or typed
 * into a form instead of it.
 */
import { readUnsent, storeUnsent } from "../browser/unsent-storage.mjs";
import { createValue } from "../browser/value.mjs";
import { Choice, describeLine } from "../controls/form-fields.mjs";
import { icon } from "../controls/icons.mjs";
import { findProblem, isGiven, isNumberOutside, writeObject, writeValue } from "../words/field-values.mjs";
import { formatCount, formatValue } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useEffect, useId, useLayoutEffect, useState } = window.React;

/**
 * @typedef {import("../browser/unsent-storage.mjs").InputTexts} InputTexts
 * @typedef {import("../state/types.mjs").FormField} FormField
 */

/** @type {InputTexts} */
const NOTHING = {};

/** By conversation. */
const typed = createValue(/** @type {Map<string|null, InputTexts>} */ (new Map()));
/** @type {Map<string|null, InputTexts>} those of the last message of each conversation */
const sent = new Map();
/** @type {Map<string|null, FormField[]>} those that a message has: of the graph shown */
const fieldsByThread = new Map();

function getTexts(thread) {
  const known = typed.get();
  if (!known.has(thread)) known.set(thread, readUnsent("inputs", thread) ?? NOTHING);
  return known.get(thread) ?? NOTHING;
}

const getFields = (thread) => fieldsByThread.get(thread) ?? [];

/** Keep what was typed for a conversation, across a reload as its draft is. */
function keepTexts(thread, texts) {
  storeUnsent("inputs", thread, Object.values(texts).some(isGiven) ? texts : null);
  typed.set(new Map(typed.get()).set(thread, texts));
}

/** Write what was typed as JSON. An empty field is no input. @returns {Record<string, string>} by name */
function writeInputs(fields, texts) {
  const given = fields.filter(({ name }) => isGiven(texts[name]));
  return Object.fromEntries(given.map((field) => [field.name, writeValue(field, texts[field.name])]));
}

/** @returns {string|null} why the inputs cannot be sent; the fields say it as well */
export function findInputProblem(thread) {
  const isShownWrong = showProblems();
  const texts = getTexts(thread);
  const wrong = getFields(thread).find((field) => isWrong(field, texts[field.name]));
  if (wrong?.kind === "json") return _("The input {input} is not JSON.", { input: wrong.label });
  if (wrong) return _("The input {input} is outside its limits.", { input: wrong.label });
  return isShownWrong ? _("An input of the graph cannot be read.") : null;
}

const isWrong = (field, text) => isGiven(text) && (findProblem(field, text) !== null || isNumberOutside(field, text));

/**
 * Let the fields beside a message say what is wrong, as the browser does in a form that is sent by itself. A text that is no
 * number is only known to its input.
 */
function showProblems() {
  /** @type {HTMLDetailsElement|null} */
  const form = document.querySelector("details.graph-inputs");
  /** @type {Iterable<HTMLInputElement|HTMLTextAreaElement>} */
  const inputs = form?.querySelectorAll("input, textarea") ?? [];
  const wrong = [...inputs].filter((input) => !input.checkValidity());
  if (form === null || wrong.length === 0) return false;
  form.open = true;
  wrong[0].focus();
  return true;
}

/** @returns {{inputs?: string}} fields to send with a message, as JSON; the form is empty afterwards */
export function takeInputs(thread) {
  sent.delete(thread);
  if (findInputProblem(thread) !== null) return {};
  const inputs = writeInputs(getFields(thread), getTexts(thread));
  if (Object.keys(inputs).length === 0) return {};
  sent.set(thread, getTexts(thread));
  keepTexts(thread, NOTHING);
  return { inputs: writeObject(inputs) };
}

/** @returns {InputTexts|undefined} what went with the last message */
export const getSentInputs = (thread) => sent.get(thread);

/** Return the inputs of a message that had no reply before a reload. @param {InputTexts|undefined} texts */
export function recoverInputs(thread, texts) {
  if (texts) keepTexts(thread, texts);
}

/** Return the inputs of a message that was refused, or is late, to the form. */
export function returnInputs(thread) {
  if (sent.has(thread)) keepTexts(thread, sent.get(thread));
}

/** Empty the form of the inputs of a late message that has arrived. */
export function dropReturnedInputs(thread) {
  const returned = sent.get(thread);
  for (const [owner, texts] of typed.get()) if (texts === returned) keepTexts(owner, NOTHING); // it may have begun meanwhile
}

/** Give the inputs that were typed on the start page to the conversation that has begun there. */
export function moveInputs(thread) {
  const texts = getTexts(null);
  if (texts === NOTHING) return;
  keepTexts(null, NOTHING);
  keepTexts(thread, texts);
}

/**
 * @param {{data: import("../state/types.mjs").ComposerData & Partial<import("../state/types.mjs").KeptChoice>,
 *   onRun: (text: string) => void}} props `onRun` begins a graph without messages
 */
export function GraphInputs({ data, onRun }) {
  const thread = data.thread ?? null;
  const graph = data.choice?.graph ?? data.graph;
  const form = data.forms?.[graph];
  const texts = typed.use(() => getTexts(thread));
  useLayoutEffect(() => void fieldsByThread.set(thread, form?.has_messages ? form.fields : []));
  if (!form) return null;
  const onChange = (name, value) => keepTexts(thread, { ...texts, [name]: value });
  const run = () => onRun(writeObject({ ...listNulls(form.fields), ...writeInputs(form.fields, texts) }));
  // The key is not the conversation: where its first message begins it, the focus stays in the form.
  return h(InputForm, { key: graph, form, texts, onChange, onRun: run });
}

/** A graph without messages gets null for an empty field that it requires and that may be null. */
const listNulls = (fields) =>
  Object.fromEntries(fields.filter((field) => field.is_null_when_empty).map(({ name }) => [name, "null"]));

const MAX_ROWS = 6;

/**
 * @param {{form: {fields: FormField[], has_messages: boolean, is_own: boolean}, texts: InputTexts,
 *   onChange: (name: string, value: string|number|boolean) => void, onRun: () => void}} props
 */
function InputForm({ form: { fields, has_messages: hasMessages, is_own: isOwn }, texts, onChange, onRun }) {
  const onSubmit = (event) => {
    event.preventDefault();
    onRun();
  };
  const inputs = fields.map((field) =>
    h(Input, {
      key: field.name, field, isRequired: field.required && !hasMessages, value: texts[field.name] ?? "",
      onChange: (value) => onChange(field.name, value),
    }),
  );
  const run = h("button", { type: "submit", className: "btn btn-primary" }, _("Run"));
  if (!hasMessages)
    return h(
      "form",
      { className: "graph-inputs", "aria-label": _("Inputs of the graph"), onSubmit },
      h("div", { className: "graph-inputs-fields" }, inputs),
      h("div", { className: "graph-inputs-foot" }, h("p", null, _("Or send a JSON object as a message.")), run),
    );
  const count = fields.filter(({ name }) => isGiven(texts[name])).length;
  return h(
    "details",
    { className: "graph-inputs", open: isOwn },
    h(
      "summary",
      null,
      icon("chevron-right", "tool-fold"),
      _("Inputs of the graph"),
      count > 0 &&
        h("span", { className: "quiet" }, _("{inputs} for the next message", { inputs: formatCount(count, "input") })),
    ),
    h("div", { className: "graph-inputs-fields", role: "group", "aria-label": _("Inputs of the graph") }, inputs),
  );
}

/**
 * A default is told and not filled in: the graph may have another value from before, which is kept where none is given.
 * @param {{field: FormField, isRequired: boolean, value: string|number|boolean,
 *   onChange: (value: string|number|boolean) => void}} props
 */
function Input({ field, isRequired, value, onChange }) {
  const id = useId();
  const [problem, setProblem] = useState(null);
  const { kind, label } = field;
  useEffect(() => {
    if (value === "") setProblem(null); // emptied, or of another conversation
  }, [value]);
  const about = problem ?? describeField(field);
  const check = ({ target: { validity, validationMessage } }) =>
    setProblem(validity.valid || validity.valueMissing ? null : validationMessage);
  const shared = { id, value, required: isRequired, "aria-describedby": about ? `${id}-about` : undefined };
  return h(
    "div",
    { className: "graph-input", "data-kind": kind, onBlur: check, onInvalid: check },
    h("label", { htmlFor: id }, label, isRequired && h("span", { "aria-hidden": true }, " *")),
    kind === "choice"
      ? h(Choice, { options: field.options, onChange, ...shared })
      : h(AREAS[kind] ? "textarea" : "input", {
          ref: (element) => element?.setCustomValidity(findProblem(field, value) ?? ""),
          className: "form-control", onChange: (event) => onChange(event.target.value), ...shared,
          ...(AREAS[kind] ? { rows: Math.min(MAX_ROWS, String(value).split("\n").length) } : describeLine(field)),
        }),
    about &&
      h(
        "p",
        { id: `${id}-about`, className: problem ? "graph-input-problem" : undefined, role: problem ? "alert" : undefined },
        about,
      ),
  );
}

const AREAS = { texts: _("One text a line"), json: _("As JSON") };

/** @param {FormField} field @returns {string} */
function describeField({ kind, description, default: usual }) {
  const value = usual === null ? "" : formatValue(usual);
  const parts = [description || AREAS[kind], value !== "" && _("Default: {value}", { value })];
  return parts.filter(Boolean).join(" · ");
}
