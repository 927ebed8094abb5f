/** Show a message of any conversation: at once where it is open, else as soon as the page has gone there. */
import { refreshPanels } from "./page-requests.mjs";

let wanted = null;

/** @param {string} thread @param {string|null} message null: only open the conversation */
export function showMessage(thread, message) {
  const isOpen = document.getElementById("transcript")?.dataset.thread === thread;
  if (isOpen && message !== null) document.dispatchEvent(new CustomEvent("waymark-show", { detail: { message } }));
  if (isOpen) return;
  wanted = { thread, message };
  refreshPanels(`/t/${encodeURIComponent(thread)}`);
}

/** @param {string|null} thread that the transcript shows now @returns {string|null} the message to show in it, once */
export function takeWantedMessage(thread) {
  if (wanted === null || wanted.thread !== thread) return null;
  const { message } = wanted;
  wanted = null;
  return message;
}
