/** The dialog that asks for the variables of a prompt before its text is inserted. */
import { ReadingDialog } from "../controls/dialog.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useEffect, useId, useRef } = window.React;

export const VARIABLE = /\{\{\s*([\p{L}\p{N}_][\p{L}\p{N}_ -]{0,39}?)\s*\}\}/gu;
const MAX_VARIABLES = 20; // of one prompt; further ones stay text

/** @param {string} text @returns {string[]} each name once, in their order */
const listVariables = (text) =>
  [...new Set(Array.from(text.matchAll(VARIABLE), ([, name]) => name))].slice(0, MAX_VARIABLES);

/** Fill each variable in one pass: a value that has braces itself stays as it is. @param {Map<string, string>} values */
const fillVariables = (text, values) => text.replace(VARIABLE, (whole, name) => values.get(name) ?? whole);

/** @param {{prompt: {name: string, text: string}, onInsert: (text: string) => void, onClose: () => void}} props */
export function VariablesDialog({ prompt, onInsert, onClose }) {
  const id = useId();
  const form = useRef(null);
  const names = listVariables(prompt.text);
  useEffect(() => form.current.elements[0].focus(), []); // after the dialog has taken the focus
  const onSubmit = (event) => {
    event.preventDefault();
    const { elements } = event.currentTarget;
    const values = new Map(names.map((name, index) => [name, elements[`value-${index}`].value]));
    onClose();
    onInsert(fillVariables(prompt.text, values));
  };
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    event.currentTarget.requestSubmit();
  };
  const field = (name, index) => [
    h("label", { key: `${name}-label`, htmlFor: `${id}-${index}`, className: "form-label", dir: "auto" }, name),
    h("textarea", {
      key: name, id: `${id}-${index}`, name: `value-${index}`, className: "form-control", dir: "auto", rows: 1,
    }),
  ];
  const buttons = h("button", { type: "submit", form: id, className: "btn btn-primary" }, _("Insert"));
  return h(
    ReadingDialog,
    { title: prompt.name, className: "prompt-variables", buttons, onClose },
    h("form", { id, ref: form, "aria-label": _("Variables"), onSubmit, onKeyDown }, names.map(field)),
  );
}
