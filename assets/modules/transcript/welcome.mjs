/** The greeting and the suggestions of a new conversation. */
import { createOperationId } from "../lib/actions.mjs";
import { icon } from "../lib/icons.mjs";

const { createElement: h, useRef } = window.React;

/** @param {{suggestions: string[], onSuggest: (text: string, operation: string) => void}} props */
export function Welcome({ suggestions, onSuggest }) {
  const operation = useRef(createOperationId()); // a double click is one request
  return h(
    "div",
    { className: "welcome" },
    h("span", { className: "welcome-mark" }, icon("signpost-split")),
    h("h2", null, "Good to see you. Where shall we start?"),
    h("p", null, "Save a checkpoint when you like where things are. If the conversation goes off track, go back to it. You can undo that, too."),
    h(
      "ul",
      { className: "suggestions", "aria-label": "Suggestions" },
      suggestions.map((text) =>
        h("li", { key: text }, h("button", { type: "button", className: "suggestion", onClick: () => onSuggest(text, operation.current) }, text)),
      ),
    ),
  );
}
