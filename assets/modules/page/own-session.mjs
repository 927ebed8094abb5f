/** The end of the page's own session, which it follows. */
import { buildApi, buildSocketAddress } from "../lib/addresses.mjs";
import { readPageKey } from "../lib/page-key.mjs";
import { fetchAsPage, isLeaving } from "../lib/session.mjs";

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

/** If the session has ended, the request itself leaves the page (see lib/session.mjs). */
async function returnToSession() {
  if (isLeaving()) return;
  const reply = await fetchAsPage(buildApi("sessions")).catch(() => null);
  if (reply?.ok) followSession();
  else if (reply?.status !== 401) setTimeout(returnToSession, RETRY_MS);
}

export const watchSession = () => void setTimeout(followSession, FIRST_WAIT_MS);
