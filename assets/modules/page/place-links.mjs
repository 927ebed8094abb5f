/** Open the message, the branch or the checkpoint that the page's address names. */
import { parseAddress } from "../lib/addresses.mjs";
import { showPlace } from "../lib/show-place.mjs";

const KIND_PATHS = { message: "messages", branch: "branches", checkpoint: "checkpoints" };
const GONE = { message: "This message is no longer there.", branch: "This branch is no longer there.", checkpoint: "This checkpoint is no longer there." };

/** Take the place out of the page's address, before Dash reads that, and show it. */
export async function openPlaceOfAddress() {
  const place = readPlace();
  if (place === null) return;
  const { thread, kind, id } = place;
  history.replaceState(history.state, "", location.pathname);
  await showPlace(thread, `/api/threads/${encodeURIComponent(thread)}/${KIND_PATHS[kind]}/${encodeURIComponent(id)}/place`, kind, GONE[kind]);
}

function readPlace() {
  try {
    return parseAddress(location);
  } catch {
    return null; // no text: a damaged address
  }
}
