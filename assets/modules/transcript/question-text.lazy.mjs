/** An answer that is typed: as text, as any JSON, or as the arguments of a call. */
import { isJson, NOT_JSON_TEXT } from "../lib/field-values.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useId, useRef, useState } = window.React;

const MAX_ROWS = 12;
const EMPTY_TEXT = _("This answer is empty.");

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

/**
 * A field with a button. An empty answer is sent by a button of its own.
 * @param {{label: string, action?: string, isCode: boolean, isPending: boolean, text: string, hasFocus?: boolean,
 *   findProblem?: (text: string) => string|null, onText: (text: string) => void, onSend: (text: string) => void,
 *   onCancel?: () => void}} props
 */
export function TextForm({ label, action = _("Answer"), isCode, isPending, text, hasFocus = false,
  findProblem = findEmpty, onText, onSend, onCancel }) {
  const id = useId();
  const field = useRef(null);
  const [problem, setProblem] = useState(null);
  const onSubmit = (event) => {
    event.preventDefault();
    const found = findProblem(text);
    setProblem(found);
    if (found === null) onSend(text);
    else field.current.focus();
  };
  const button = (name, onClick) =>
    h("button", { type: "button", className: "btn btn-outline-secondary", onClick }, name);
  return h(
    "form",
    { className: "question-form", onSubmit },
    h("textarea", {
      ref: field, className: `form-control${isCode ? " question-code" : ""}`, "aria-label": label, placeholder: label,
      rows: Math.min(MAX_ROWS, text.split("\n").length + 1), value: text, autoFocus: hasFocus,
      ...describeProblem(id, problem),
      onChange: (event) => (setProblem(null), onText(event.target.value)),
    }),
    h(Problem, { id, problem }),
    h(
      "div",
      { className: "question-buttons" },
      h(SubmitButton, { isPending }, action),
      problem === EMPTY_TEXT && button(_("Answer with nothing"), () => isPending || onSend("")),
      onCancel && button(_("Cancel"), onCancel),
    ),
  );
}

const findNoJson = (text) => (isJson(text) ? null : NOT_JSON_TEXT);
const findEmpty = (text) => (text.trim() === "" ? EMPTY_TEXT : null);

/** @param {string} id @param {string|null} problem @returns {object} the properties of its field */
const describeProblem = (id, problem) => (problem ? { "aria-invalid": true, "aria-describedby": id } : {});

/** What is wrong with a field, below it. @param {{id: string, problem: string|null}} props */
export const Problem = ({ id, problem }) => problem && h("p", { id, className: "question-problem", role: "alert" }, problem);

export const SubmitButton = ({ isPending, children }) =>
  h("button", { type: "submit", className: "btn btn-primary", "aria-disabled": isPending || undefined }, children);
