/**
 * Undo and Redo of the bar mean the newest change that a person sees. The stream may have shown more than the panels know
 * yet.
 */
import { setProperties } from "../lib/properties.mjs";
import { findSeenVersion } from "../lib/socket.mjs";

const BUTTONS = "#undo, #redo";
const SHOWN_STATE = "undo-state";

/** Put the version that a person sees into the state that a press of these buttons sends, before Dash sends it. */
export function watchUndo() {
  document.addEventListener(
    "click",
    ({ target }) => {
      const shown = target.closest?.(BUTTONS) && window.dash_component_api?.getLayout(SHOWN_STATE)?.props.data;
      if (shown)
        setProperties({ [SHOWN_STATE]: { data: { ...shown, version: findSeenVersion(shown.thread, shown.version) } } });
    },
    true,
  );
}
