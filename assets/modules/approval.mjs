/** What a person can decide about a tool call that waits: let it run, change its arguments, answer in its place, refuse. */
const { createElement: h, useEffect, useId, useState } = window.React;

const ASKED_MS = 4000; // a decision is answered within this, or it may be made again
const WAYS = {
  edit: { label: "Arguments, as JSON", button: "Run with these" },
  words: { label: "What the agent carries along", button: "Go back with this" },
  respond: { label: "Answer in place of the tool", button: "Answer" },
};

/** @param {{tool: import("./messages.mjs").ToolView, act: Function}} props */
export function Approval({ tool, act }) {
  const [way, setWay] = useState(null);
  const [text, setText] = useState("");
  const [isAsked, setAsked] = useState(false);
  const label = useId();
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
  const open = (next) => {
    setWay(way === next ? null : next);
    setText({ edit: tool.arguments, words: tool.move?.words, respond: "" }[next]);
  };
  const button = (name, style, onClick, hooks) =>
    h("button", { type: "button", className: `btn ${style}`, "aria-disabled": isAsked || undefined, onClick, ...hooks }, name);

  return h(
    "div",
    { className: "approval", role: "group", "aria-labelledby": label },
    tool.move ? h(Move, { id: label, move: tool.move }) : h("p", { id: label }, `${tool.agent === "main" ? "The agent" : tool.agent} asks to ${tool.name === "fork" ? "try these ways, each on a branch of its own" : `use ${tool.name}`}.`),
    h(
      "div",
      { className: "approval-ways" },
      button("Allow", "btn-primary", () => decide("allow")),
      tool.move && button("Always here", "btn-outline-secondary", () => decide("allow", { always: true }), { title: "Allow it always in this conversation" }),
      tool.move && button("Change the note", "btn-outline-secondary", () => open("words"), { "aria-expanded": way === "words" }),
      !tool.move && button("Change arguments", "btn-outline-secondary", () => open("edit"), { "aria-expanded": way === "edit" }),
      !tool.move && button("Answer instead", "btn-outline-secondary", () => open("respond"), { "aria-expanded": way === "respond" }),
      button("Deny", "btn-outline-secondary", () => decide("deny")),
    ),
    way !== null &&
      h(
        "form",
        {
          onSubmit: (event) => {
            event.preventDefault();
            if (text.trim() === "") return;
            if (way === "words") decide("edit", { text: JSON.stringify({ ...JSON.parse(tool.arguments), [tool.move.argument]: text }) });
            else decide(way, { text });
          },
        },
        h("textarea", {
          className: "form-control",
          "aria-label": WAYS[way].label,
          rows: Math.min(10, text.split("\n").length + 1),
          value: text,
          autoFocus: true,
          onChange: (event) => setText(event.target.value),
        }),
        h("button", { type: "submit", className: "btn btn-primary", "aria-disabled": isAsked || undefined }, WAYS[way].button),
      ),
  );
}

/** What would leave, and where the conversation would go on. */
function Move({ id, move }) {
  const leaves = move.leaves === "1 message" ? "leaves" : "leave";
  return h(
    "div",
    { className: "approval-move" },
    h("p", { id }, `The agent asks to go back to message ${move.number}. ${move.leaves} ${leaves} the conversation. You can undo it.`),
    h("blockquote", null, move.target === "" ? "(a call without text)" : move.target),
    h("p", { className: "quiet" }, `It carries along${move.read.length === 0 ? "" : `, after reading ${move.read.join(", ")}`}:`),
    h("blockquote", null, move.words),
  );
}
