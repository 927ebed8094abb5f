/** The end of the page's own session, by the person. */
import { removePageKey } from "../lib/page-key.mjs";
import { fetchAsPage, leaveSession, setLeaving } from "../lib/session.mjs";
import { showToast } from "../lib/toast.mjs";
import { _ } from "../lib/words.mjs";

/**
 * End the session with `end`, and leave the page if that succeeds. The sockets that close meanwhile ask for no other
 * session.
 */
export async function leave(end) {
  setLeaving(true);
  const hasEnded = await end();
  if (!hasEnded) {
    setLeaving(false);
    return false;
  }
  removePageKey();
  leaveSession("/sign-in?signed-out="); // a provider signs out, too
  return true;
}

/** End the session, and leave the page. */
export async function signOut() {
  const hasEnded = await leave(() =>
    fetchAsPage("/api/sessions/current/end", { method: "POST" }).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  if (!hasEnded) showToast(_("Signing out failed. Please try again."));
}
