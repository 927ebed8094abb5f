/** Tell the user when the server has another version of the page: parts that load later may not fit this one. */
import { NEW_PAGE_EVENT } from "../lib/session.mjs";
import { showToastWhenFree } from "../lib/toast.mjs";
import { _ } from "../lib/words.mjs";

/** Wait for the event. The answer that has told may bring a toast of its own, such as Undo. */
export function watchVersion() {
  const text = _("Waymark was updated. Reload the page to use the new version.");
  const tell = () => showToastWhenFree(text, () => location.reload(), _("Reload"));
  document.addEventListener(NEW_PAGE_EVENT, tell, { once: true });
}
