/** The answer to a graph's question: a text, any JSON, or a form of the fields that its schema names. */
import { Choice, describeLine } from "../controls/form-fields.mjs";
import { Problem, SubmitButton, TextForm } from "../message/decisions.mjs";
import { findProblem, writeObject, writeValue, isJson, NOT_JSON_TEXT } from "../words/field-values.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useId, useState } = window.React;

const findNoJson = (text) => (isJson(text) ? null : NOT_JSON_TEXT);

/** An answer as text, or as any JSON. */
export function TextPart({ question: { style, answer_schema: schema }, texts, onText, isPending, answer }) {
  const isText = style === "text";
  const asJson = schema === "" ? _("Your answer, as JSON or as text") : _("Your answer, as JSON");
  return h(TextForm, {
    label: isText ? _("Your answer") : asJson, isCode: !isText, isPending,
    findProblem: schema === "" ? undefined : findNoJson,
    text: texts[""] ?? "", onText: (text) => onText({ "": text }),
    onSend: (text) => answer(isText ? JSON.stringify(text) : text),
  });
}

const MISSING_TEXT = _("The graph needs this.");
const MAX_FIELD_ROWS = 6;
const NOT_BLANK = ".*\\S.*";

/** Fields that nobody touched have their defaults, which are sent as any other value. */
export function FormPart({ question: { fields }, texts, onText, isPending, answer }) {
  const id = useId();
  const values = { ...Object.fromEntries(fields.map((field) => [field.name, findDefault(field)])), ...texts };
  const onSubmit = (event) => {
    event.preventDefault();
    const given = fields.map((field) => [field.name, writeField(values[field.name], field)]);
    answer(writeObject(Object.fromEntries(given.filter(([, json]) => json !== undefined))));
  };
  return h(
    "form",
    { className: "answer-form", onSubmit },
    fields.map((field) =>
      h(FieldInput, {
        key: field.name, id: `${id}-${field.name}`, field, value: values[field.name],
        onChange: (value) => onText({ [field.name]: value }),
      }),
    ),
    h("div", { className: "answer-buttons" }, h(SubmitButton, { isPending }, _("Answer"))),
  );
}

const findDefault = ({ kind, default: value }) => value ?? (kind === "boolean" ? false : "");

/** @returns {string|undefined} JSON; undefined is left out */
function writeField(value, field) {
  if (value !== "") return writeValue(field, value);
  if (field.is_null_when_empty) return "null";
  // An empty text in the place of a default is an answer: left out, it would be the default again.
  return field.kind === "text" && field.default !== null ? '""' : undefined;
}

function FieldInput({ id, field, value, onChange }) {
  const [problem, setProblem] = useState(null);
  const change = (next) => (setProblem(null), onChange(next));
  const { kind, label, description, required } = field;
  const onInvalid = (event) => {
    event.preventDefault(); // the browser's own words would not stay
    const { form, validity, validationMessage } = event.target;
    setProblem(validity.valueMissing || validity.patternMismatch ? MISSING_TEXT : validationMessage);
    if (form.querySelector(":invalid") === event.target) event.target.focus();
  };
  const notes = [description && `${id}-about`, problem && `${id}-problem`].filter(Boolean).join(" ");
  const shared = { id, "aria-describedby": notes || undefined };
  const isTick = kind === "boolean";
  const line = { ...shared, value, required, onInvalid, "aria-invalid": problem ? true : undefined, onChange: change };
  return h(
    "div",
    { className: isTick ? "question-check" : undefined },
    isTick && h(Tick, { ...shared, value, onChange }),
    h("label", { className: isTick ? undefined : "form-label", htmlFor: id }, label),
    !isTick && h(kind === "choice" ? FieldChoice : Line, { field, ...line }),
    description && h("p", { id: `${id}-about`, className: "question-about" }, description),
    h(Problem, { id: `${id}-problem`, problem }),
  );
}

const Tick = ({ value, onChange, ...shared }) =>
  h("input", {
    type: "checkbox", className: "form-check-input", checked: value,
    onChange: (event) => onChange(event.target.checked), ...shared,
  });

/** Nothing is chosen before a person does, and a default is not taken back where another value is needed. */
const FieldChoice = ({ field: { options, default: usual, required }, ...shared }) =>
  h(Choice, { options, hasEmpty: !required || usual === null, ...shared });

function Line({ field, onChange, ...shared }) {
  const { kind, default: usual, required } = field;
  const isLong = kind === "text" && String(usual).includes("\n");
  return h(isLong ? "textarea" : "input", {
    ref: (element) => element?.setCustomValidity(findProblem(field, shared.value) ?? ""), className: "form-control",
    ...(isLong ? { rows: Math.min(MAX_FIELD_ROWS, usual.split("\n").length) } : describeLine(field)),
    // A blank default is its author's choice.
    pattern: kind === "text" && required && usual === null ? NOT_BLANK : undefined,
    onChange: (event) => onChange(event.target.value), ...shared,
  });
}
