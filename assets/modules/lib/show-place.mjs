/** Show the place of a message, a branch or a checkpoint that the server locates. */
import { showMessage } from "./show-message.mjs";
import { showToast } from "./toast.mjs";

/**
 * @param {string} thread @param {string} address of the place
 * @param {string} noun what stands there, as “message” @param {string} goneText shown when it is not there any more
 */
export async function showPlace(thread, address, noun, goneText) {
  const reply = await fetch(address).catch(() => null);
  if (!reply?.ok) return showToast(reply?.status === 404 ? goneText : "The place of this link cannot be read right now.");
  const { message, standing, branch } = await reply.json();
  if (message !== null) showMessage(thread, message);
  if (standing === "branch") showToast(`This ${noun} is on the branch “${branch}”. The conversation is shown at the place where that begins.`);
  if (standing === "left") showToast(`This ${noun} was left behind. The conversation is shown at the place where it left.`);
}
