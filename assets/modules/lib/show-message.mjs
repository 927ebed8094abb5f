/** Show a message of any conversation: at once where it is open, else as soon as the page has gone there. */
import { buildPath } from "./addresses.mjs";
import { getChosenThread } from "./chosen-thread.mjs";
import { goTo } from "./panels.mjs";

/** @type {{thread: string, message: string|null, branch: string|null}|null} */
let wanted = null;

/** @returns {string} the conversation that the transcript shows; empty on the start page */
export const getOpenThread = () => document.getElementById("transcript")?.dataset.thread ?? "";

/**
 * @param {string} thread @param {string|null} message null: only open the conversation
 * @param {string|null} [branch] that has the message, where the current one has not: the conversation switches to it
 */
export function showMessage(thread, message, branch = null) {
  const chosen = getChosenThread();
  const isOpen = getOpenThread() === thread && (chosen.isShown || chosen.thread === thread);
  if (isOpen && message === null) return;
  // A transcript that has just been rendered does not listen yet: it takes the wanted message in a moment.
  const isHeard =
    isOpen && !document.dispatchEvent(new CustomEvent("waymark-show", { cancelable: true, detail: { message, branch } }));
  if (isHeard) return;
  wanted = { thread, message, branch };
  if (!isOpen) goTo(buildPath(thread));
}

/**
 * @param {string|null} thread that the transcript shows now
 * @returns {{message: string|null, branch: string|null}|null} the message to show in it, once
 */
export function takeWantedMessage(thread) {
  if (wanted === null || wanted.thread !== thread) return null;
  const { message, branch } = wanted;
  wanted = null;
  return { message, branch };
}
