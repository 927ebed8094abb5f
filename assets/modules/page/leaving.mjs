/** The ends of the page: of its session, by the person, and of its version. */
import { SIGN_IN, buildApi } from "../browser/addresses.mjs";
import { watchClicks } from "../controls/listening.mjs";
import { showToast, showToastWhenFree } from "../controls/toast.mjs";
import { readRefusal } from "../requests/send.mjs";
import { NEW_PAGE_EVENT, UNAUTHORIZED, fetchAsPage, leaveSession, removePageKey, setLeaving } from "../requests/session.mjs";
import { _ } from "../words/words.mjs";

/** Wait for the event. The answer that has told may bring a toast of its own, such as Undo. */
export function watchVersion() {
  const text = _("Waymark was updated. Reload the page to use the new version.");
  const tell = () => showToastWhenFree(text, () => location.reload(), _("Reload"));
  document.addEventListener(NEW_PAGE_EVENT, tell, { once: true });
}

const FAILED_TEXT = _("Signing out failed. Please try again.");

/** Sign out with each of the buttons for it. */
export const watchSignOut = () => watchClicks("#leave, #sessions-sign-out", signOut);

/** End the session, and leave the page. The sockets that close meanwhile ask for no other session. */
async function signOut() {
  setLeaving(true);
  const reply = await fetchAsPage(buildApi("sessions/current/end"), { method: "POST" }).catch(() => null);
  if (reply?.ok) {
    removePageKey();
    return leaveSession(`${SIGN_IN}?signed-out=`); // a provider signs out, too
  }
  if (reply?.status === UNAUTHORIZED) return leaveSession();
  setLeaving(false);
  showToast(reply ? await readRefusal(reply, FAILED_TEXT) : FAILED_TEXT);
}
