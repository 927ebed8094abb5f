/** The end of the page's own session, by the person. */
import { SIGN_IN, buildApi } from "../lib/addresses.mjs";
import { removePageKey } from "../lib/page-key.mjs";
import { readRefusal } from "../lib/send.mjs";
import { fetchAsPage, leaveSession, setLeaving } from "../lib/session.mjs";
import { showToast } from "../lib/toast.mjs";
import { _ } from "../lib/words.mjs";

const FAILED_TEXT = _("Signing out failed. Please try again.");

/** Sign out with each of the buttons for it. */
export function watchSignOut() {
  document.addEventListener("click", ({ target }) => {
    if (/** @type {Element} */ (target).closest?.("#leave, #sessions-sign-out")) signOut();
  });
}

/** End the session, and leave the page. The sockets that close meanwhile ask for no other session. */
async function signOut() {
  setLeaving(true);
  const reply = await fetchAsPage(buildApi("sessions/current/end"), { method: "POST" }).catch(() => null);
  if (reply?.ok) {
    removePageKey();
    leaveSession(`${SIGN_IN}?signed-out=`); // a provider signs out, too
    return;
  }
  setLeaving(false);
  showToast(reply ? await readRefusal(reply, FAILED_TEXT) : FAILED_TEXT);
}
