/** The greeting and the suggestions of a new conversation, and the first screen of a long one. */
import { button } from "../controls/buttons.mjs";
import { icon, withIcon } from "../controls/icons.mjs";
import { takeChoice, takeModels } from "../settings/settings.mjs";
import { createRequestId } from "../state/actions.mjs";
import { expectThread } from "../state/chosen-thread.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useRef, useLayoutEffect, useState } = window.React;

/** @param {{data: import("../state/types.mjs").TranscriptData, act: import("../state/types.mjs").Act}} props */
export function Welcome({ data: { thread, greeting, suggestions, example }, act }) {
  const requestId = useRef(createRequestId()); // a double click is one request
  const suggest = (text) => {
    expectThread(requestId.current); // it begins a conversation
    act("suggest", { text, ...takeChoice(thread), ...takeModels(thread) }, requestId.current);
  };
  return h(
    "div",
    { className: "welcome" },
    h("span", { className: "welcome-mark" }, icon("signpost-split")),
    h("h2", null, greeting[0]),
    h("p", null, greeting[1]),
    example &&
      button("suggestion example", withIcon("clock-history", _("Try time travel with an example")),
        () => act("example"), { "data-testid": "example" }),
    suggestions.length > 0 &&
      h("ul", { className: "suggestions", "aria-label": _("Suggestions") },
        suggestions.map((text) => h("li", { key: text }, button("suggestion", text, () => suggest(text)))),
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
