/** The button for the list of sessions. */
import { lazy } from "../lib/lazy.mjs";
import { showDialog } from "./keys.mjs";

const SessionsDialog = lazy(() => import("./sessions.lazy.mjs"), "SessionsDialog", "The sessions could not be loaded. Please try again.");

export function watchSessions() {
  document.addEventListener("click", (event) => event.target.closest?.("#sessions") && showDialog(SessionsDialog));
}
