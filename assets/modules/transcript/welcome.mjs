/** The greeting and the suggestions of a new conversation. */
import { icon } from "../controls/icons.mjs";
import { createRequestId } from "../state/actions.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useRef, useLayoutEffect, useState } = window.React;

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
 * @param {{data: import("../state/types.mjs").TranscriptData, onSuggest: (text: string, requestId: string) => void,
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

const FIRST_MESSAGES = 10;
const MIN_HIDDEN_PX = 600; // above the view: messages that follow there move nothing that is in sight
const MAX_WAIT_MS = 200; // for a moment without other work: the other panels may be painted first

/**
 * @param {import("../state/types.mjs").MessageView[]} messages
 * @param {boolean} later whether they are an earlier part of the conversation: its end is not in sight
 * @returns {{shown: import("../state/types.mjs").MessageView[], isWhole: boolean}}
 */
export function useFirstScreen(messages, later) {
  const [isFirst, setFirst] = useState(() => messages.length > FIRST_MESSAGES && !document.hidden);
  const isWhole = !isFirst || later;
  useLayoutEffect(() => {
    if (isWhole) return;
    const { scrollHeight, clientHeight } = /** @type {HTMLElement} */ (document.querySelector("#transcript .log"));
    if (scrollHeight < clientHeight + MIN_HIDDEN_PX) setFirst(false); // before the paint
    else whenPainted(() => setFirst(false));
  }, [isWhole]);
  return { shown: isWhole ? messages : messages.slice(-FIRST_MESSAGES), isWhole };
}

const whenPainted = (callback) =>
  requestAnimationFrame(() =>
    // Safari has none.
    "requestIdleCallback" in window ? requestIdleCallback(callback, { timeout: MAX_WAIT_MS }) : setTimeout(callback),
  );
