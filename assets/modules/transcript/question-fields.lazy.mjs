/** A form of the fields that the schema of an answer names. */
import { _ } from "../lib/words.mjs";
import { Problem, SubmitButton, describeProblem } from "./question-text.lazy.mjs";

const { createElement: h, useId, useState } = window.React;

const MISSING_TEXT = _("The graph needs this.");
const NOT_BLANK = ".*\\S.*";

export function FormPart({ question: { fields }, texts, onText, isPending, answer }) {
  const id = useId();
  const values = { ...Object.fromEntries(fields.map((field) => [field.name, findDefault(field)])), ...texts };
  const onSubmit = (event) => {
    event.preventDefault();
    const given = fields.filter((field) => values[field.name] !== "" || field.is_null_when_empty);
    answer(JSON.stringify(Object.fromEntries(given.map(({ name, type }) => [name, readField(values[name], type)]))));
  };
  return h(
    "form",
    { className: "question-form", onSubmit },
    fields.map((field) =>
      h(FieldInput, {
        key: field.name, id: `${id}-${field.name}`, field, value: values[field.name],
        onChange: (value) => onText({ [field.name]: value }),
      }),
    ),
    h("div", { className: "question-buttons" }, h(SubmitButton, { isPending }, _("Answer"))),
  );
}

const findDefault = ({ type, options, required }) => (type === "boolean" ? false : required ? (options[0] ?? "") : "");

function readField(value, type) {
  if (value === "") return null;
  return type === "number" || type === "integer" ? Number(value) : value;
}

function FieldInput({ id, field: { label, type, options, required }, value, onChange }) {
  const [problem, setProblem] = useState(null);
  const change = (next) => (setProblem(null), onChange(next));
  if (type === "boolean") return h(CheckField, { label, value, onChange });
  const onInvalid = (event) => {
    event.preventDefault(); // the browser's own words would not stay
    const { form, validity, validationMessage } = event.target;
    setProblem(validity.valueMissing || validity.patternMismatch ? MISSING_TEXT : validationMessage);
    if (form.querySelector(":invalid") === event.target) event.target.focus();
  };
  const shared = { id, value, required, onInvalid, ...describeProblem(`${id}-problem`, problem),
    onChange: (event) => change(event.target.value) };
  return h(
    "div",
    null,
    h("label", { className: "form-label", htmlFor: id }, label),
    options.length > 0 ? h(Choice, { options, ...shared }) : h(Line, { type, ...shared }),
    h(Problem, { id: `${id}-problem`, problem }),
  );
}

const CheckField = ({ label, value, onChange }) =>
  h(
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

const Choice = ({ options, ...shared }) =>
  h(
    "select",
    { className: "form-select", ...shared },
    !shared.required && h("option", { value: "" }, _("(not given)")),
    options.map((option) => h("option", { key: option, value: option }, option)),
  );

const Line = ({ type, ...shared }) =>
  h("input", {
    className: "form-control", type: type === "string" ? "text" : "number",
    ...(type === "string" ? { pattern: shared.required ? NOT_BLANK : undefined } : { step: type === "integer" ? 1 : "any" }),
    ...shared,
  });
