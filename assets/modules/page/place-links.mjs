/** Open the message, the branch or the checkpoint that the page's address names. */
import { parseAddress } from "../lib/addresses.mjs";
import { showMessage } from "../lib/show-message.mjs";
import { showToast } from "../lib/toast.mjs";

const KIND_PATHS = { message: "messages", branch: "branches", checkpoint: "checkpoints" };
const GONE = { message: "This message is no longer there.", branch: "This branch is no longer there.", checkpoint: "This checkpoint is no longer there." };

/** Take the place out of the page's address, before Dash reads that, and show it. */
export async function openPlaceOfAddress() {
  const place = readPlace();
  if (place === null) return;
  const { thread, kind, id } = place;
  history.replaceState(history.state, "", location.pathname);
  const path = `/api/threads/${encodeURIComponent(thread)}/${KIND_PATHS[kind]}/${encodeURIComponent(id)}/place`;
  const reply = await fetch(path).catch(() => null);
  if (!reply?.ok) return showToast(reply?.status === 404 ? GONE[kind] : "The place of this link cannot be read right now.");
  const { message, standing, branch } = await reply.json();
  if (message !== null) showMessage(thread, message);
  if (standing === "branch") showToast(`This ${kind} is on the branch “${branch}”. The conversation is shown at the place where that begins.`);
  if (standing === "left") showToast(`This ${kind} was left behind. The conversation is shown at the place where it left.`);
}

function readPlace() {
  try {
    return parseAddress(location);
  } catch {
    return null; // no text: a damaged address
  }
}
