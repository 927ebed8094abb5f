/** Parts of the forms that are made from a JSON schema: of a graph's inputs, and of the answer to its question. */
import { formatValue } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h } = window.React;

/**
 * A choice among values of any plain type. An empty text is none of them.
 * @param {{options: (string|number|boolean)[], value: string|number|boolean, hasEmpty?: boolean,
 *   onChange: (value: string|number|boolean) => void}} props  the others are those of the element
 */
export const Choice = ({ options, value, hasEmpty = true, onChange, ...shared }) =>
  h(
    "select",
    {
      className: "form-select", value: options.includes(value) ? options.indexOf(value) : "", ...shared, // 1 is not "1"
      onChange: ({ target }) => onChange(options[target.value] ?? ""),
    },
    hasEmpty && h("option", { value: "" }, _("(not given)")),
    options.map((option, index) => h("option", { key: index, value: index }, formatValue(option))),
  );

/** @param {import("../state/types.mjs").FormField} field @returns {object} the properties of its input */
export const describeLine = ({ kind, limits: { min, max } }) =>
  kind === "text" ? { type: "text" } : { type: "number", step: kind === "integer" ? 1 : "any", min, max };
