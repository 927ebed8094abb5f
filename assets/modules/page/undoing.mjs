/**
 * The buttons of the bar, of a toast and of the change log that change the conversation. Undo and Redo mean the newest
 * change that is seen. What is pressed while another conversation is chosen waits for it.
 */
import { watchClicks } from "../controls/listening.mjs";
import { sendOnce } from "../state/actions.mjs";
import { isGoing, whenShown } from "../state/chosen-thread.mjs";
import { findSeenVersion } from "../state/seen-version.mjs";
import { getData } from "../state/shown-panels.mjs";

const OF_CONVERSATION = "#undo, #redo, #clear, #settings, #export, #share, #usage, #show-log, #more [data-run]";
const STILL_SHOWN = "#transcript, .history-scroll, .place-card";

export function watchHeldPresses() {
  window.addEventListener(
    "click",
    (event) => {
      if (!isGoing()) return;
      const target = /** @type {Element} */ (event.target);
      const button = target.closest?.(OF_CONVERSATION);
      if (!button && !target.closest?.(STILL_SHOWN)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (button) whenShown(() => button.click());
    },
    true, // before anybody else
  );
}

/** What each button does, by its id. */
const PRESSES = {
  undo: () => sendOnce("log", { type: "undo", ...readShownState() }),
  redo: () => sendOnce("log", { type: "redo", ...readShownState() }),
  clear: () => sendOnce("history", { type: "clear" }),
  "toast-undo": () => sendOnce("toast", { type: "undo", ...getData("toast-where") }),
};

export function watchUndo() {
  for (const [id, press] of Object.entries(PRESSES)) watchClicks(`#${id}, .changes-head [data-press="${id}"]`, press);
}

/** The stream may have shown more than the panels know yet. */
function readShownState() {
  const { thread, version } = getData("undo-state");
  return { thread, version: findSeenVersion(thread, version) };
}
