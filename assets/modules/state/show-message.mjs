/**
 * Show a message of any conversation, at once where it is open, else as soon as the page has gone there; and the place of a
 * message, a branch or a checkpoint that the server locates, or that the page's address names.
 */
import { buildPath, buildThreadApi, parseAddress } from "../browser/addresses.mjs";
import { showToast } from "../controls/toast.mjs";
import { send } from "../requests/send.mjs";
import { _ } from "../words/words.mjs";
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
  if (wanted?.thread !== thread) return null;
  const taken = wanted;
  wanted = null;
  return taken;
}

const NOUNS = { message: _("message"), branch: _("branch"), checkpoint: _("checkpoint") };
const UNREADABLE_TEXT = _("Couldn't load the place of this link.");

/**
 * Go to a place: on its branch, to which the conversation switches with Undo, or where it left the conversation. Its
 * conversation is opened at once, and left alone where the reader goes elsewhere before the place is known.
 * @param {string} thread @param {string} address of the place
 * @param {string} kind of what is there, as “message”, or a noun for it
 * @param {{goneText?: string, unreadableText?: string, stays?: boolean}} [options] texts for when the place is not there any
 *   more, and when the server does not reply; `stays`: on the current branch
 */
export async function openPlace(thread, address, kind, { goneText, unreadableText = UNREADABLE_TEXT, stays = false } = {}) {
  if (getChosenThread().thread !== thread) showMessage(thread, null);
  const { visit } = getChosenThread();
  const noun = NOUNS[kind] ?? kind;
  const { reply: place, status } = await send(address);
  if (place === null)
    return showToast(status === 404 ? (goneText ?? _("This {noun} is no longer there.", { noun })) : unreadableText);
  if (visit !== getChosenThread().visit) return;
  if (place.standing === "branch" && place.there !== null && !stays) showMessage(thread, place.there, place.branch_id);
  else showNearest(thread, place, noun);
}

/** Show the message of the current path that is nearest to a place. */
function showNearest(thread, { message, standing, branch }, noun) {
  showMessage(thread, message);
  if (standing === "branch")
    showToast(
      _("This {noun} is on the branch “{branch}”. The conversation is shown at the place where that begins.", {
        noun, branch,
      }),
    );
  if (standing === "left")
    showToast(_("This {noun} was removed. The conversation is shown at the place where that happened.", { noun }));
}

const KIND_PATHS = { message: "messages", branch: "branches", checkpoint: "checkpoints" };

/** Show the place of the page's address, now and whenever the reader goes back or forward to it. */
export function watchPlaceOfAddress() {
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  openPlaceOfAddress(entry?.type === "back_forward");
  addEventListener("popstate", () => openPlaceOfAddress(true));
}

/** @param {boolean} isReturn to an entry of the browser's history. A reload keeps to the current branch. */
function openPlaceOfAddress(isReturn) {
  const place = takePlace() ?? (isReturn ? history.state?.place : null);
  if (!place) return;
  const { thread, kind, id } = place;
  openPlace(thread, buildThreadApi(thread, `${KIND_PATHS[kind]}/${encodeURIComponent(id)}/place`), kind);
}

/** Move the place out of the page's address, before Dash reads that, into the entry of the browser's history. */
function takePlace() {
  const place = parseAddress(location);
  if (place !== null) history.replaceState({ ...history.state, place }, "", location.pathname);
  return place;
}
