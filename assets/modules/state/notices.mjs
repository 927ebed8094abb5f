/**
 * Notices of answers that ended out of sight, and of questions that wait: a mark in the title of the page and, where the
 * person has switched it on, a notification of the browser. A notification has the conversation's title, and nothing of its
 * text.
 */
import { readOption, storeOption } from "../browser/page-options.mjs";
import { _ } from "../words/words.mjs";
import { showMessage } from "./show-message.mjs";

export const NOTIFY = "notify";
const TEXTS = { done: _("The answer has ended."), waiting: _("A permission is needed.") };
const threads = new Set(); // with a notice that was not seen yet
let shownTitle = "Waymark";

function writeTitle() {
  document.title = threads.size > 0 ? `(${threads.size}) ${shownTitle}` : shownTitle;
}

/** Show the title of the open conversation. @param {string} title */
export function showTitle(title) {
  shownTitle = title;
  writeTitle();
}

/**
 * Give notice that a run came to rest, unless the person sees it.
 * @param {{thread: string, title: string, isWaiting: boolean, isOpen: boolean}} run `isOpen`: the page shows the
 *   conversation
 */
export function noticeRunEnd({ thread, title, isWaiting, isOpen }) {
  if (isOpen && document.visibilityState === "visible") return;
  threads.add(thread);
  writeTitle();
  if (readOption(NOTIFY)) notify(thread, title, TEXTS[isWaiting ? "waiting" : "done"]);
}

function notify(thread, title, body) {
  try {
    const notification = new Notification(title || "Waymark", { body, tag: `waymark-${thread}` });
    notification.onclick = () => {
      window.focus();
      showMessage(thread, null);
      notification.close();
    };
  } catch {
    // Browsers of phones have no notifications of a page: the mark in the title remains.
  }
}

/** Remove the notice of the open conversation, if the person sees it now. @param {string|null} thread */
export function removeSeenNotice(thread) {
  if (document.visibilityState !== "visible" || !threads.delete(thread)) return;
  writeTitle();
}

/**
 * Switch notifications on or off. Only this asks for the browser's permission.
 * @param {boolean} isOn
 * @returns {Promise<boolean>} false if the browser does not allow them
 */
export async function switchNotifications(isOn) {
  const isAllowed = !isOn || (window.Notification !== undefined && (await Notification.requestPermission()) === "granted");
  storeOption(NOTIFY, isOn && isAllowed);
  return isAllowed;
}
