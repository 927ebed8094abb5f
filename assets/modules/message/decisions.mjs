/** Answers to what an agent or a graph asks about a call: by a button, or by the text of a form that a button opens. */
import { button } from "../controls/buttons.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useId, useRef, useState } = window.React;

const MAX_ROWS = 12;
const EMPTY_TEXT = _("This answer is empty.");

/** What is wrong with a field, below it. @param {{id?: string, problem: string|null}} props */
export const Problem = ({ id, problem }) => problem && h("p", { id, className: "answer-problem", role: "alert" }, problem);

export const SubmitButton = ({ isPending, children }) =>
  h("button", { type: "submit", className: "btn btn-primary", "aria-disabled": isPending || undefined }, children);

const findEmpty = (text) => (text.trim() === "" ? EMPTY_TEXT : null);

/**
 * A field with a button. Where an empty answer is one, a button of its own sends it.
 * @typedef {{label: string, action?: string, isCode: boolean, text: string, findProblem?: (text: string) => string|null,
 *   onText?: (text: string) => void, onSend: (text: string) => void}} TextFormProps  `text`: at first
 * @param {TextFormProps & {isPending: boolean, hasFocus?: boolean, onCancel?: () => void}} props
 */
export function TextForm({ label, action = _("Answer"), isCode, text: given, findProblem = findEmpty, onText, onSend,
  isPending, hasFocus = false, onCancel }) {
  const id = useId();
  const field = useRef(null);
  const [text, setText] = useState(given);
  const [problem, setProblem] = useState(null);
  const onChange = ({ target: { value } }) => {
    setProblem(null);
    setText(value);
    onText?.(value);
  };
  const onSubmit = (event) => {
    event.preventDefault();
    const found = findProblem(text);
    setProblem(found);
    if (found === null) onSend(text);
    else field.current.focus();
  };
  return h(
    "form",
    { className: "answer-form", onSubmit },
    h("textarea", {
      ref: field, className: `form-control${isCode ? " answer-code" : ""}`, "aria-label": label, placeholder: label,
      rows: Math.min(MAX_ROWS, text.split("\n").length + 1), value: text, autoFocus: hasFocus, onChange,
      ...(problem && { "aria-invalid": true, "aria-describedby": id }),
    }),
    h(Problem, { id, problem }),
    h("div", { className: "answer-buttons" },
      h(SubmitButton, { isPending }, action),
      problem === EMPTY_TEXT && button("btn btn-outline-secondary", _("Answer with nothing"), () => isPending || onSend("")),
      onCancel && button("btn btn-outline-secondary", _("Cancel"), onCancel),
    ),
  );
}

/**
 * @typedef {{kind: string, name: string, title?: string, isMain?: boolean, isPressed?: boolean, decide?: () => void, form?:
 *   TextFormProps}} Choice  decides, or opens its form
 * @param {{choices: Choice[], isPending: boolean, opened?: string|null, onCancel?: (kind: string) => void, children: any} &
 *   Record<string, any>} props  `opened`: the kind whose form is open at first
 */
export function Decisions({ choices, isPending, opened = null, onCancel, children, ...others }) {
  const [open, setOpen] = useState(opened);
  const root = useRef(null);
  const isPressed = useRef(false); // a form that is there again leaves the focus where it is
  const form = choices.find(({ kind }) => kind === open)?.form;
  const press = ({ kind, decide }) => {
    isPressed.current = true;
    if (decide) decide();
    else setOpen(open === kind ? null : kind);
  };
  const cancel = () => {
    root.current.querySelector('[aria-expanded="true"]').focus(); // before the pressed button disappears
    onCancel?.(open);
    setOpen(null);
  };
  const choiceButton = (choice) =>
    button(`btn ${choice.isMain && !form ? "btn-primary" : "btn-outline-secondary"}`, choice.name, () => press(choice), {
      key: choice.kind, title: choice.title, "aria-disabled": isPending || undefined,
      "aria-pressed": choice.isPressed || undefined, "aria-expanded": choice.form && open === choice.kind,
    });
  return h(
    "div",
    { ...others, "data-form": open, ref: root },
    children,
    h("div", { className: "answer-buttons" }, choices.map(choiceButton)),
    form && h(TextForm, { key: open, ...form, isPending, hasFocus: isPressed.current, onCancel: cancel }),
  );
}
