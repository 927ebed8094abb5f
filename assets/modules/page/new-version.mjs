/** Tell the user when the server has another version of the page: parts that load later may not fit this one. */
import { showToast } from "../lib/toast.mjs";
import { _ } from "../lib/words.mjs";

const LOOK_AGAIN_MS = 2000;

/** Wait for the event of early.js. The answer that has told may bring a toast of its own, such as Undo. */
export function watchVersion() {
  document.addEventListener("waymark-new-page", () => setTimeout(tellWhenFree, LOOK_AGAIN_MS), { once: true });
}

function tellWhenFree() {
  const isOtherShown = document.documentElement.hasAttribute("data-toast");
  if (document.hidden || isOtherShown) setTimeout(tellWhenFree, LOOK_AGAIN_MS);
  else showToast(_("Waymark was updated. Reload the page to use the new version."), () => location.reload(), _("Reload"));
}
