/** Show the place of a message, a branch or a checkpoint that the server locates. */
import { getChosenThread } from "./chosen-thread.mjs";
import { fetchAsPage } from "./session.mjs";
import { showMessage } from "./show-message.mjs";
import { showToast } from "./toast.mjs";
import { _ } from "./words.mjs";

const NOUNS = { message: _("message"), branch: _("branch"), checkpoint: _("checkpoint") };
const nameNoun = (noun) => NOUNS[noun] ?? noun;
const UNREADABLE_TEXT = _("Couldn't load the place of this link.");

/**
 * Go to a place: on its branch, to which the conversation switches with Undo, or where it left the conversation. Its
 * conversation is opened at once, and left alone where the reader goes elsewhere before the place is known.
 * @param {string} thread @param {string} address of the place
 * @param {string} noun what is there, as “message”
 * @param {{unreadableText?: string, isWanted?: () => boolean}} [options] a text for when the server does not reply, and
 *   whether the reader still waits for the place when it does
 */
export async function openPlace(thread, address, noun, { unreadableText = UNREADABLE_TEXT, isWanted = () => true } = {}) {
  if (getChosenThread().thread !== thread) showMessage(thread, null);
  const { visit } = getChosenThread();
  const place = await fetchPlace(address, _("This {noun} is no longer there.", { noun: nameNoun(noun) }), unreadableText);
  if (place === null || !isWanted() || visit !== getChosenThread().visit) return;
  if (place.standing === "branch" && place.there !== null) showMessage(thread, place.there, place.branch_id);
  else showNearest(thread, place, noun);
}

/**
 * Show a place from the current branch, which stays.
 * @param {string} thread @param {string} address of the place
 * @param {string} noun what is there @param {string} goneText shown when it is not there any more
 */
export async function showPlace(thread, address, noun, goneText) {
  const { visit } = getChosenThread();
  const place = await fetchPlace(address, goneText, UNREADABLE_TEXT);
  if (place !== null && visit === getChosenThread().visit) showNearest(thread, place, noun);
}

async function fetchPlace(address, goneText, unreadableText) {
  const reply = await fetchAsPage(address).catch(() => null);
  if (reply?.ok) return reply.json();
  showToast(reply?.status === 404 ? goneText : unreadableText);
  return null;
}

/** Show the message of the current path that is nearest to a place. */
function showNearest(thread, { message, standing, branch }, noun) {
  showMessage(thread, message);
  if (standing === "branch")
    showToast(
      _("This {noun} is on the branch “{branch}”. The conversation is shown at the place where that begins.", {
        noun: nameNoun(noun),
        branch,
      }),
    );
  if (standing === "left")
    showToast(
      _("This {noun} was removed. The conversation is shown at the place where that happened.", {
        noun: nameNoun(noun),
      }),
    );
}
