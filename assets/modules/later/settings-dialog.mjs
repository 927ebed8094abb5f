/** The dialog in which a person chooses for one conversation: the model, the instructions, and whether the agent may go back. */
import { useDialog } from "./reading.mjs";

const { createElement: h, useEffect, useId, useState } = window.React;

const NO_REPLY_MS = 6000;
const POLICIES = {
  ask: ["Ask me", "Each move waits until you allow it."],
  allow: ["Allow", "It goes back by itself; you can undo each move."],
  off: ["Never", "It cannot move through time in this conversation."],
};

/**
 * @typedef {import("../settings.mjs").Choice} Choice
 * @typedef {import("../settings.mjs").Kept} Kept
 * @typedef {{thread: string|null, choice: Required<Choice>, models: {name: string, demo: string|null}[], default: string,
 *   time_travel: "ask"|"allow"|"off", longest: number}} SettingsData  what is empty in the choice was not chosen
 * @param {{title: string, data: SettingsData, kept: Kept|null, keep: (next: Kept|null) => void,
 *   reply?: {op: string, ok: boolean, text: string|null, choice?: Choice}, act: Function, onClose: () => void}} props
 */
export function SettingsDialog({ title, data, kept, keep, reply, act, onClose }) {
  const id = useId();
  const dialog = useDialog(onClose);
  const [seen, setSeen] = useState(data.choice);
  const [choice, setChoice] = useState({ ...data.choice, ...(data.thread === null ? kept?.choice : {}) });
  const [pending, setPending] = useState(null);
  const [problem, setProblem] = useState(null);
  const change = (part) => (event) => setChoice({ ...choice, [part]: event.target.value });
  useEffect(() => {
    if (pending === null || reply?.op !== pending) return;
    setPending(null);
    if (reply.ok) onClose();
    else setProblem(reply.text);
    if (reply.choice) setSeen(reply.choice);
  }, [pending, reply]);
  useEffect(() => {
    if (pending === null) return undefined;
    const timer = setTimeout(() => {
      setPending(null);
      setProblem("Not saved yet: the server does not answer. What you chose is kept here.");
    }, NO_REPLY_MS);
    return () => clearTimeout(timer);
  }, [pending]);

  const onSubmit = (event) => {
    event.preventDefault();
    if (pending !== null) return;
    const changed = Object.keys(seen).filter((part) => choice[part].trim() !== seen[part]);
    const of = (values) => Object.fromEntries(changed.map((part) => [part, values[part]]));
    if (data.thread !== null && changed.length > 0) {
      setProblem(null);
      setPending(act("save", { thread: data.thread, choice: of(choice), seen: of(seen) }));
      return;
    }
    if (data.thread === null) keep(changed.length > 0 ? { choice: of(choice), ...shown(data, choice.model) } : null);
    onClose();
  };

  return h(
    "dialog",
    { ref: dialog, className: "modal show", "aria-labelledby": `${id}-title`, onCancel: (event) => (event.preventDefault(), onClose()) },
    h(
      "div",
      { className: "modal-dialog modal-dialog-centered" },
      h(
        "form",
        { className: "modal-content", onSubmit, autoComplete: "off" },
        h("div", { className: "modal-header" }, h("h2", { className: "modal-title", id: `${id}-title` }, title)),
        h(
          "div",
          { className: "modal-body" },
          h(ModelField, { id: `${id}-model`, data, value: choice.model, onChange: change("model") }),
          h(InstructionsField, { id: `${id}-instructions`, longest: data.longest, value: choice.instructions, onChange: change("instructions") }),
          h(PolicyField, { name: `${id}-policy`, general: data.time_travel, value: choice.time_travel, onChange: change("time_travel") }),
          h("p", { className: "quiet" }, "What you choose holds from the next answer on."),
          problem && h("p", { className: "settings-problem", role: "alert" }, problem),
        ),
        h(
          "div",
          { className: "modal-footer" },
          h("button", { type: "button", className: "btn btn-outline-secondary", onClick: onClose }, "Cancel"),
          h("button", { type: "submit", className: "btn btn-primary", "aria-disabled": pending !== null }, "Save"),
        ),
      ),
    ),
  );
}

/** What the page says of a model, by its name; empty: the default. */
function shown(data, model) {
  const name = model || data.default;
  return { model: name, demo: data.models.find((each) => each.name === name)?.demo ?? null };
}

function ModelField({ id, data, value, onChange }) {
  const others = data.models.filter(({ name }) => name !== data.default);
  const isGone = value !== "" && !data.models.some(({ name }) => name === value);
  return [
    h("label", { key: "label", className: "form-label", htmlFor: id }, "Model"),
    h(
      "select",
      { key: "field", id, className: "form-select", value: value === data.default ? "" : value, onChange, "aria-describedby": isGone ? `${id}-gone` : undefined },
      h("option", { value: "" }, `${data.default} (default)`),
      others.map(({ name }) => h("option", { key: name, value: name }, name)),
      isGone && h("option", { value }, `${value} (not offered any more)`),
    ),
    isGone && h("p", { key: "gone", id: `${id}-gone`, className: "settings-problem" }, "This model cannot be used any more; choose another."),
  ];
}

function InstructionsField({ id, longest, value, onChange }) {
  return [
    h("label", { key: "label", className: "form-label", htmlFor: id }, "Instructions"),
    h("textarea", {
      key: "field",
      id,
      className: "form-control",
      rows: 5,
      maxLength: longest,
      value,
      onChange,
      placeholder: "For example: Answer in French.",
      "aria-describedby": `${id}-about`,
    }),
    h(
      "p",
      { key: "about", id: `${id}-about`, className: "quiet settings-about" },
      h("span", null, "The model is told them with each request of this conversation."),
      h("span", null, `${value.length.toLocaleString("en")} / ${longest.toLocaleString("en")}`),
    ),
  ];
}

function PolicyField({ name, general, value, onChange }) {
  const possible = general === "off" ? [] : Object.entries(POLICIES);
  return h(
    "fieldset",
    null,
    h("legend", { className: "form-label" }, "When the agent wants to go back"),
    general === "off" && h("p", { className: "quiet" }, "Going back is switched off for all conversations."),
    possible.map(([policy, [label, about]]) =>
      h(
        "label",
        { key: policy, className: "settings-policy" },
        h("input", { type: "radio", className: "form-check-input", name, value: policy, checked: (value || general) === policy, onChange }),
        h("span", null, label, h("span", { className: "quiet" }, about)),
      ),
    ),
  );
}
