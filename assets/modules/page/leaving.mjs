/** The end of the page's own session, by the person. */
import { removePageKey } from "../lib/page-key.mjs";
import { showToast } from "../lib/toast.mjs";
import { _ } from "../lib/words.mjs";

/**
 * End the session with `end`, and leave the page if that succeeds. The sockets that close meanwhile ask for no other
 * session.
 */
export async function leave(end) {
  window.waymark.isLeaving = true;
  const hasEnded = await end();
  if (!hasEnded) return (window.waymark.isLeaving = false);
  removePageKey();
  window.waymark.leaveSession("/sign-in?signed-out="); // a provider signs out, too
  return true;
}

/** End the session, and leave the page. */
export async function signOut() {
  const hasEnded = await leave(() =>
    fetch("/api/sessions/current/end", { method: "POST" }).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  if (!hasEnded) showToast(_("Signing out failed. Please try again."));
}
