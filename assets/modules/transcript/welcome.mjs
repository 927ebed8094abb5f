/** The greeting and the suggestions of a new conversation. */
import { icon } from "../controls/icons.mjs";
import { createRequestId } from "../state/actions.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useRef, useLayoutEffect, useState } = window.React;

/**
 * @param {{data: import("../state/types.mjs").TranscriptData, onSuggest: (text: string, requestId: string) => void,
 *   onExample: () => void}} props
 */
export function Welcome({ data, onSuggest, onExample }) {
  const { greeting, suggestions, example } = data;
  const requestId = useRef(createRequestId()); // a double click is one request
  return h(
    "div",
    { className: "welcome" },
    h("span", { className: "welcome-mark" }, icon("signpost-split")),
    h("h2", null, greeting[0]),
    h("p", null, greeting[1]),
    example &&
      h(
        "button",
        { type: "button", className: "suggestion example", "data-testid": "example", onClick: onExample },
        icon("clock-history"),
        _("Try time travel with an example"),
      ),
    suggestions.length > 0 &&
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
