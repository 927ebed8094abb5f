/** The greeting and the suggestions of a new conversation. */
import { createRequestId } from "../lib/actions.mjs";
import { icon } from "../lib/icons.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useRef } = window.React;

const GREETING = [
  _("Good to see you. Where shall we start?"),
  _(
    "Here you can travel in time: go back to any point of a conversation, try another way, and keep both. You can undo every step.",
  ),
];
const MISSING = [
  _("This conversation is not here."),
  _("It may have been erased, or the address is not complete. You can begin a new conversation here."),
];

const READING = [
  _("Good to see you."),
  _(
    "You can read, search, compare and export the conversations that others have let you into. They are in the list of conversations.",
  ),
];

/**
 * @param {{data: import("../lib/types.mjs").TranscriptData, onSuggest: (text: string, requestId: string) => void,
 *   onExample: () => void}} props
 */
export function Welcome({ data, onSuggest, onExample }) {
  const { suggestions, example, missing: isMissing, read_only: isReadOnly } = data;
  const requestId = useRef(createRequestId()); // a double click is one request
  const [greeting, text] = isReadOnly ? READING : isMissing ? MISSING : GREETING;
  const heading = isMissing ? MISSING[0] : greeting;
  return h(
    "div",
    { className: "welcome" },
    h("span", { className: "welcome-mark" }, icon("signpost-split")),
    h("h2", null, heading),
    h("p", null, text),
    example &&
      h(
        "button",
        { type: "button", className: "suggestion example", "data-testid": "example", onClick: onExample },
        icon("clock-history"),
        _("Try time travel with an example"),
      ),
    !isReadOnly && suggestions.length > 0 &&
      h(
        "ul",
        { className: "suggestions", "aria-label": _("Suggestions") },
        suggestions.map((text) =>
          h(
            "li",
            { key: text },
            h(
              "button",
              { type: "button", className: "suggestion", onClick: () => onSuggest(text, requestId.current) },
              text,
            ),
          ),
        ),
      ),
  );
}
