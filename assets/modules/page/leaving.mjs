/** The end of the page's own session, by the person. */
import { SIGN_IN, buildApi } from "../lib/addresses.mjs";
import { removePageKey } from "../lib/page-key.mjs";
import { readRefusal } from "../lib/send.mjs";
import { fetchAsPage, leaveSession, setLeaving } from "../lib/session.mjs";
import { showToast } from "../lib/toast.mjs";
import { _ } from "../lib/words.mjs";

const FAILED_TEXT = _("Signing out failed. Please try again.");

/** End the session, and leave the page. The sockets that close meanwhile ask for no other session. */
export async function signOut() {
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
