/** The menu's item for the audit log. */
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";
import { showDialog } from "../page/keys.mjs";

const AuditDialog = lazy(
  () => import("./audit.lazy.mjs"),
  "AuditDialog",
  _("The audit log could not be loaded. Please try again."),
);

export function watchAudit() {
  document.addEventListener("click", ({ target }) => {
    if (/** @type {Element} */ (target).closest?.("#audit")) showDialog(AuditDialog);
  });
}
