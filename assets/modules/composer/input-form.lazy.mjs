/** The form of a graph's inputs: beside the message, or instead of it. */
import { formatCount } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useEffect, useId, useRef, useState } = window.React;

const BOOLEANS = [["", _("(not given)")], ["true", _("yes")], ["false", _("no")]];
const MAX_ROWS = 6;
const NOT_JSON_TEXT = _("This is not JSON.");

loadStyle(new URL("./input-form.lazy.css", import.meta.url));

/**
 * @typedef {{name: string, kind: "text"|"number"|"integer"|"boolean"|"choice"|"texts"|"json", label: string,
 *   description: string, options: string[], required: boolean, is_null_when_empty: boolean}} InputField
 * @param {{form: {fields: InputField[], has_messages: boolean, is_own: boolean}, texts: Record<string, string|boolean>,
 *   onChange: (name: string, value: string|boolean) => void, onRun: () => void}} props
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
 * @param {{field: InputField, isRequired: boolean, value: string|boolean, onChange: (value: string|boolean) => void}} props
 */
function Input({ field: { kind, label, description, options }, isRequired, value, onChange }) {
  const id = useId();
  const field = useRef(null);
  const [problem, setProblem] = useState(null);
  const say = (text) => {
    field.current?.setCustomValidity(text ?? "");
    setProblem(text);
  };
  useEffect(() => {
    if (value === "") say(null); // emptied, or of another conversation
  }, [value]);
  const shared = {
    id,
    ref: field,
    value,
    required: isRequired,
    "aria-describedby": `${id}-about`,
    onChange: (event) => onChange(event.target.value),
  };
  const about = problem ?? (description || { texts: _("One text a line"), json: _("As JSON") }[kind]);
  const check = ({ target }) => say(kind === "json" && target.value !== "" && !isJson(target.value) ? NOT_JSON_TEXT : null);
  return h(
    "div",
    { className: "graph-input", "data-kind": kind, onBlur: check },
    h("label", { htmlFor: id }, label, isRequired && h("span", { "aria-hidden": true }, " *")),
    BUILDERS[kind](shared, options, value, onChange),
    about &&
      h(
        "p",
        { id: `${id}-about`, className: problem ? "graph-input-problem" : "quiet", role: problem ? "alert" : undefined },
        about,
      ),
  );
}

const buildArea = ({ value, ...shared }) =>
  h("textarea", { className: "form-control", value, rows: Math.min(MAX_ROWS, value.split("\n").length), ...shared });
const buildLine = (type, step) => (shared) => h("input", { type, step, className: "form-control", ...shared });
const buildChoice = (shared, options) =>
  h(
    "select",
    { className: "form-select", ...shared },
    h("option", { value: "" }, _("(not given)")),
    options.map((option) => h("option", { key: option, value: option }, option)),
  );
const BUILDERS = {
  ...{
    text: buildLine("text"),
    number: buildLine("number", "any"),
    integer: buildLine("number", 1),
    choice: buildChoice,
    texts: buildArea,
    json: buildArea,
  },
  boolean: ({ id }, options, value, onChange) =>
    h(
      "select",
      {
        id, className: "form-select", value: String(value),
        onChange: ({ target }) => onChange({ "": "", true: true, false: false }[target.value]),
      },
      BOOLEANS.map(([key, name]) => h("option", { key, value: key }, name)),
    ),
};

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
