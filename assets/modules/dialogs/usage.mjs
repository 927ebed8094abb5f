/** The menu's item with the usage of a person, and for admins of everybody. */
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";
import { showDialog } from "../page/keys.mjs";

const UsageDialog = lazy(
  () => import("./usage.lazy.mjs"),
  "UsageDialog",
  _("The usage could not be loaded. Please try again."),
);

export function watchUsage() {
  document.addEventListener("click", ({ target }) => {
    if (target.closest?.("#usage")) showDialog(UsageDialog);
  });
}
