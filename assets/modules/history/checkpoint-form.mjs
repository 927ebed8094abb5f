/** The form for the name and description of a new or existing checkpoint. */
import { button } from "../controls/buttons.mjs";
import { _ } from "../words/words.mjs";

const { Fragment, createElement: h, useEffect, useId, useRef, useState } = window.React;

const MAX_CHECKPOINT_NAME_CHARS = 120;
const MAX_DESCRIPTION_CHARS = 500;
const TAKEN_TEXT = _("Another checkpoint has this name. You can save it all the same.");

/**
 * @param {{title: string, checkpoint?: {name: string, description: string}, quote?: string, others: {name: string}[],
 *   onSave: (name: string, description: string) => void, onCancel: () => void}} props
 */
export function CheckpointForm({ title, checkpoint, quote, others, onSave, onCancel }) {
  const id = useId();
  const [isTaken, setTaken] = useState(false);
  const name = useRef(null);
  const description = useRef(null);
  useEffect(() => name.current.select(), []);
  const onInput = ({ target }) => setTaken(others.some((other) => other.name === target.value.trim()));
  const onSubmit = (event) => {
    event.preventDefault();
    onSave(name.current.value.trim() || (checkpoint?.name ?? ""), description.current.value.trim());
  };
  const onKeyDown = (event) => {
    if (event.key === "Enter" && event.target === description.current && !event.shiftKey) return onSubmit(event);
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    onCancel();
  };
  return h(
    "form",
    { className: "save-form", "aria-label": title, onSubmit, onKeyDown },
    quote !== undefined &&
      h("p", { className: "form-quote" }, quote === "" ? _("At the chosen message") : _("At “{quote}”", { quote })),
    h(Field, {
      id: `${id}-name`, label: _("Name"), input: name, value: checkpoint?.name, maxLength: MAX_CHECKPOINT_NAME_CHARS,
      isOptional: !checkpoint, onInput,
    }),
    h("p", { className: "name-hint", role: "status" }, isTaken && TAKEN_TEXT),
    h(Field, {
      id: `${id}-description`, label: _("Description"), kind: "textarea", input: description, value: checkpoint?.description,
      maxLength: MAX_DESCRIPTION_CHARS, isOptional: true,
    }),
    h(
      "div",
      { className: "form-buttons" },
      button("btn btn-secondary", _("Cancel"), onCancel),
      button("btn btn-primary", _("Save"), null, { type: "submit" }),
    ),
  );
}

function Field({ id, label, kind = "input", input, value = "", maxLength, isOptional, onInput = undefined }) {
  return h(
    Fragment,
    null,
    h("label", { htmlFor: id }, label, " ", isOptional && h("span", null, _("optional"))),
    h(kind, {
      id, ref: input, className: "form-control", defaultValue: value, maxLength, dir: "auto", autoComplete: "off",
      rows: kind === "textarea" ? 3 : undefined, onInput,
    }),
  );
}
