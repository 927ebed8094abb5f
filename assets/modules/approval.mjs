/** What a person can decide about a tool call that waits: let it run, change its arguments, answer in its place, refuse. */
const { createElement: h, useEffect, useId, useState } = window.React;

const ASKED_MS = 4000; // a decision is answered within this, or it may be made again
const WAYS = {
  edit: { label: "Arguments, as JSON", button: "Run with these" },
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
    setText(next === "edit" ? tool.arguments : "");
  };
  const button = (name, style, onClick, hooks) =>
    h("button", { type: "button", className: `btn ${style}`, "aria-disabled": isAsked || undefined, onClick, ...hooks }, name);

  return h(
    "div",
    { className: "approval", role: "group", "aria-labelledby": label },
    h("p", { id: label }, `The agent asks to use ${tool.name}.`),
    h(
      "div",
      { className: "approval-ways" },
      button("Allow", "btn-primary", () => decide("allow")),
      button("Change arguments", "btn-outline-secondary", () => open("edit"), { "aria-expanded": way === "edit" }),
      button("Answer instead", "btn-outline-secondary", () => open("respond"), { "aria-expanded": way === "respond" }),
      button("Deny", "btn-outline-secondary", () => decide("deny")),
    ),
    way !== null &&
      h(
        "form",
        {
          onSubmit: (event) => {
            event.preventDefault();
            if (text.trim() !== "") decide(way, { text });
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
