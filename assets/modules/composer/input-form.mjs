/** The form of a graph's inputs: beside the message, or instead of it. */
import { Choice, describeLine } from "../controls/form-fields.mjs";
import { icon } from "../controls/icons.mjs";
import { findProblem } from "../words/field-values.mjs";
import { formatCount, formatValue } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useEffect, useId, useState } = window.React;

const MAX_ROWS = 6;

/**
 * @typedef {import("../state/types.mjs").FormField} FormField
 * @typedef {import("../browser/unsent-storage.mjs").InputTexts} InputTexts
 * @param {{form: {fields: FormField[], has_messages: boolean, is_own: boolean}, texts: InputTexts,
 *   onChange: (name: string, value: string|number|boolean) => void, onRun: () => void}} props
 */
export function InputForm({ form: { fields, has_messages: hasMessages, is_own: isOwn }, texts, onChange, onRun }) {
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
  const count = fields.filter(({ name }) => texts[name] !== undefined && texts[name] !== "").length;
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
