/** The ways to the dialog of links: the menu's item for the open conversation, and the card of a checkpoint. */
import { lazy } from "../lib/lazy.mjs";
import { decodeThread } from "../lib/thread-ids.mjs";
import { _ } from "../lib/words.mjs";
import { showDialog } from "../page/keys.mjs";

const ShareDialog = lazy(
  () => import("./share.lazy.mjs"),
  "ShareDialog",
  _("The dialog could not be loaded. Please try again."),
);

/** @param {string} thread @param {{id: string, name: string}|null} [checkpoint] null: the whole conversation */
export const showShare = (thread, checkpoint = null) => showDialog(ShareDialog, { thread, checkpoint });

export function watchSharing() {
  document.addEventListener(
    "click",
    ({ target }) =>
      /** @type {Element} */ (target).closest?.("#share") && showShare(decodeThread(location.pathname.slice("/t/".length))),
  );
}
