/**
 * Presses while another conversation was chosen than the page shows. A button of the bar acts on the chosen one as soon as
 * it is shown. What is still shown of the one before takes no press.
 */
import { isGoing, whenShown } from "../lib/chosen-thread.mjs";

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
