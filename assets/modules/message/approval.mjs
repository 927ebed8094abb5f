/** Approval of a waiting tool call: allow it, edit its arguments, answer instead of the tool, or deny it. */
import { useSinglePress } from "../lib/single-press.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useId, useRef, useState } = window.React;

const MAX_ROWS = 10;
const FORMS = {
  edit: { label: _("Arguments, as JSON"), button: _("Run with these") },
  words: { label: _("Note for the agent"), button: _("Go back with this") },
  respond: { label: _("Answer instead of the tool"), button: _("Answer") },
};

/** @param {{tool: import("../lib/types.mjs").ToolView, act: Function}} props */
export function Approval({ tool, act }) {
  const [form, setForm] = useState(null);
  const { isPending, press } = useSinglePress();
  const label = useId();
  const root = useRef(null);
  const decide = (kind, fields = {}) => press(() => act("decide", { call: tool.id, kind, ...fields }));
  const cancel = () => {
    root.current.querySelector('[aria-expanded="true"]').focus(); // before the pressed button disappears
    setForm(null);
  };
  const decideButton = (name, style, kind, fields, title) =>
    h("button", { type: "button", className: `btn ${style}`, title, "aria-disabled": isPending || undefined,
      onClick: () => decide(kind, fields) }, name);
  const formButton = (name, next) => {
    const onClick = () => setForm(form === next ? null : next);
    return h("button", { type: "button", className: "btn btn-outline-secondary", "aria-disabled": isPending || undefined,
      "aria-expanded": form === next, onClick }, name);
  };
  return h(
    "div",
    { className: "approval", role: "group", "aria-labelledby": label, "data-form": form, ref: root },
    tool.move ? h(Move, { id: label, agent: tool.agent, move: tool.move }) : h("p", { id: label }, describeCall(tool)),
    h(
      "div",
      { className: "approval-buttons" },
      decideButton(_("Allow"), form === null ? "btn-primary" : "btn-outline-secondary", "allow"),
      tool.move && decideButton(_("Always allow"), "btn-outline-secondary", "allow", { always: true },
        _("Always allow in this conversation")),
      tool.move && formButton(_("Change the note"), "words"),
      !tool.move && formButton(_("Change arguments"), "edit"),
      !tool.move && formButton(_("Answer instead"), "respond"),
      decideButton(_("Deny"), "btn-outline-secondary", "deny"),
    ),
    form !== null && h(AnswerForm, { key: form, tool, form, isPending, decide, onCancel: cancel }),
  );
}

function describeCall({ agent, name }) {
  const values = { agent: agent === "main" ? _("The agent") : agent, name };
  return name === "fork"
    ? _("{agent} asks to try these approaches, each on its own branch.", values)
    : _("{agent} asks to use {name}.", values);
}

/** The form for other arguments, another note, or an answer instead of the tool's. */
function AnswerForm({ tool, form, isPending, decide, onCancel }) {
  const [text, setText] = useState({ edit: tool.arguments, words: tool.move?.words, respond: "" }[form]);
  const onSubmit = (event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    if (form === "words")
      decide("edit", { text: JSON.stringify({ ...JSON.parse(tool.arguments), [tool.move.argument]: text }) });
    else decide(form, { text });
  };
  return h(
    "form",
    { onSubmit },
    h("textarea", {
      className: `form-control${form === "edit" ? " approval-arguments" : ""}`,
      "aria-label": FORMS[form].label,
      rows: Math.min(MAX_ROWS, text.split("\n").length + 1),
      value: text,
      autoFocus: true,
      onChange: (event) => setText(event.target.value),
    }),
    h(
      "div",
      { className: "approval-buttons" },
      h(
        "button",
        { type: "submit", className: "btn btn-primary", "aria-disabled": isPending || undefined },
        FORMS[form].button,
      ),
      h("button", { type: "button", className: "btn btn-outline-secondary", onClick: onCancel }, _("Cancel")),
    ),
  );
}

const describeMainMove = (move) =>
  _("The agent asks to go back to message {number}: {leaves} will be removed from the conversation. You can undo this.", {
    number: move.number,
    leaves: move.leaves,
  });

const describeMemoryMove = (agent, move) =>
  _(
    "{agent} asks to go back to message {number} of its own memory: it will forget {leaves}. The conversation keeps all messages.",
    { agent, number: move.number, leaves: move.leaves },
  );

/** A requested move: its target, the messages it would remove, and its note. A sub-agent moves within its own memory. */
function Move({ id, agent, move }) {
  const isMain = agent === "main";
  return h(
    "div",
    { className: "approval-move" },
    h("p", { id }, isMain ? describeMainMove(move) : describeMemoryMove(agent, move)),
    h(
      "p",
      {
        className: "quiet", title: isMain ? _("The size of the model's next request") : _("The size of the agent's memory"),
      },
      move.tokens,
    ),
    h("blockquote", null, move.target === "" ? _("(a call with no text)") : move.target),
    h(
      "p",
      { className: "quiet" },
      move.read.length === 0
        ? _("The agent keeps this note:")
        : _("The agent keeps this note, after reading {sources}:", { sources: move.read.join(", ") }),
    ),
    h("blockquote", null, move.words),
  );
}
