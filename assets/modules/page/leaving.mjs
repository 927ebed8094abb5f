/** The ends of the page: of its own session, by the person or elsewhere, and of its version. */
import { SIGN_IN, buildApi, buildSocketAddress } from "../browser/addresses.mjs";
import { showToast, showToastWhenFree } from "../controls/toast.mjs";
import { readRefusal } from "../requests/send.mjs";
import { removePageKey, fetchAsPage, leaveSession, setLeaving, readPageKey, isLeaving, NEW_PAGE_EVENT
  } from "../requests/session.mjs";
import { _ } from "../words/words.mjs";

/** Wait for the event. The answer that has told may bring a toast of its own, such as Undo. */
export function watchVersion() {
  const text = _("Waymark was updated. Reload the page to use the new version.");
  const tell = () => showToastWhenFree(text, () => location.reload(), _("Reload"));
  document.addEventListener(NEW_PAGE_EVENT, tell, { once: true });
}

const FIRST_WAIT_MS = 2000; // the page's first requests come before
const RETRY_MS = 5000;
const HANDSHAKE_MS = 5000; // a network may swallow it, and browsers make one connection to a server at a time
const SESSION_ENDED = 4401;

/** Leave the page when its session ends: on the start page, nothing else would tell it. */
function followSession() {
  const key = readPageKey();
  if (!key || isLeaving()) return; // nobody signs in, or somebody signs out
  const socket = new WebSocket(buildSocketAddress(buildApi("sessions/end")), ["waymark", key]);
  const deadline = setTimeout(() => socket.close(), HANDSHAKE_MS);
  socket.onopen = () => clearTimeout(deadline);
  socket.onclose = ({ code }) => setTimeout(returnToSession, code === SESSION_ENDED ? 0 : RETRY_MS);
}

/** If the session has ended, the request itself leaves the page (see requests/session.mjs). */
async function returnToSession() {
  if (isLeaving()) return;
  const reply = await fetchAsPage(buildApi("sessions")).catch(() => null);
  if (reply?.ok) followSession();
  else if (reply?.status !== 401) setTimeout(returnToSession, RETRY_MS);
}

export const watchSession = () => void setTimeout(followSession, FIRST_WAIT_MS);

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
