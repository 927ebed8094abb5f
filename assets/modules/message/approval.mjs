/** Decisions about a tool call that waits: let it run, change its arguments, answer in its place, refuse. */
import { count } from "../lib/format.mjs";

const { createElement: h, useEffect, useId, useState } = window.React;

const ASKED_MS = 4000; // a decision is answered within this, or it may be made again
const MAX_ROWS = 10;
const WAYS = {
  edit: { label: "Arguments, as JSON", button: "Run with these" },
  words: { label: "Note the agent keeps", button: "Go back with this" },
  respond: { label: "Answer instead of the tool", button: "Answer" },
};

/** @param {{tool: import("../lib/types.mjs").ToolView, act: Function}} props */
export function Approval({ tool, act }) {
  const [way, setWay] = useState(null);
  const { isAsked, decide } = useDecision(tool, act);
  const label = useId();
  const decideButton = (name, style, kind, fields, title) =>
    h("button", { type: "button", className: `btn ${style}`, title, "aria-disabled": isAsked || undefined, onClick: () => decide(kind, fields) }, name);
  const openButton = (name, next) => {
    const onClick = () => setWay(way === next ? null : next);
    return h("button", { type: "button", className: "btn btn-outline-secondary", "aria-disabled": isAsked || undefined, "aria-expanded": way === next, onClick }, name);
  };
  return h(
    "div",
    { className: "approval", role: "group", "aria-labelledby": label },
    tool.move ? h(Move, { id: label, move: tool.move }) : h("p", { id: label }, describeCall(tool)),
    h(
      "div",
      { className: "approval-ways" },
      decideButton("Allow", "btn-primary", "allow"),
      tool.move && decideButton("Always allow", "btn-outline-secondary", "allow", { always: true }, "Always allow in this conversation"),
      tool.move && openButton("Change the note", "words"),
      !tool.move && openButton("Change arguments", "edit"),
      !tool.move && openButton("Answer instead", "respond"),
      decideButton("Deny", "btn-outline-secondary", "deny"),
    ),
    way !== null && h(AnswerForm, { key: way, tool, way, isAsked, decide }),
  );
}

/** A decision is made once, until it has gone unanswered for a while. */
function useDecision(tool, act) {
  const [isAsked, setAsked] = useState(false);
  useEffect(() => {
    if (!isAsked) return undefined;
    const timer = setTimeout(() => setAsked(false), ASKED_MS);
    return () => clearTimeout(timer);
  }, [isAsked]);
  const decide = (kind, fields = {}) => {
    if (isAsked) return;
    setAsked(true);
    act("decide", { call: tool.id, kind, ...fields });
  };
  return { isAsked, decide };
}

function describeCall({ agent, name }) {
  const asker = agent === "main" ? "The agent" : agent;
  return `${asker} asks to ${name === "fork" ? "try these approaches, each on its own branch" : `use ${name}`}.`;
}

/** The field for other arguments, another note, or an answer in the tool's place. */
function AnswerForm({ tool, way, isAsked, decide }) {
  const [text, setText] = useState({ edit: tool.arguments, words: tool.move?.words, respond: "" }[way]);
  const onSubmit = (event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    if (way === "words") decide("edit", { text: JSON.stringify({ ...JSON.parse(tool.arguments), [tool.move.argument]: text }) });
    else decide(way, { text });
  };
  return h(
    "form",
    { onSubmit },
    h("textarea", {
      className: "form-control",
      "aria-label": WAYS[way].label,
      rows: Math.min(MAX_ROWS, text.split("\n").length + 1),
      value: text,
      autoFocus: true,
      onChange: (event) => setText(event.target.value),
    }),
    h("button", { type: "submit", className: "btn btn-primary", "aria-disabled": isAsked || undefined }, WAYS[way].button),
  );
}

const tokensText = ({ before, after }) => `The conversation takes ${count(before, "token")} now, and ${count(after, "token")} afterwards.`;

/** What would leave, and where the conversation would go on. */
function Move({ id, move }) {
  return h(
    "div",
    { className: "approval-move" },
    h("p", { id }, `The agent asks to go back to message ${move.number}. ${move.leaves} will be removed from the conversation. You can undo this.`),
    h("p", { className: "quiet", title: "Tokens, about" }, tokensText(move.tokens)),
    h("blockquote", null, move.target === "" ? "(a call with no text)" : move.target),
    h("p", { className: "quiet" }, `The agent keeps this note${move.read.length === 0 ? "" : `, after reading ${move.read.join(", ")}`}:`),
    h("blockquote", null, move.words),
  );
}
