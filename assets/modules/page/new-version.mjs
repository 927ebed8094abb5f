/** Tell the user when the server has another version of the page: parts that load later may not fit this one. */
import { showToastWhenFree } from "../lib/toast.mjs";
import { _ } from "../lib/words.mjs";

/** Wait for the event of early.js. The answer that has told may bring a toast of its own, such as Undo. */
export function watchVersion() {
  const text = _("Waymark was updated. Reload the page to use the new version.");
  const tell = () => showToastWhenFree(text, () => location.reload(), _("Reload"));
  document.addEventListener("waymark-new-page", tell, { once: true });
}
