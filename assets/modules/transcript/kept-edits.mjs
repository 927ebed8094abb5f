/**
 * Texts of edits that are not sent, in the tab's session storage. A form keeps its text when it closes, and is open again
 * after a reload. Where another page changes or removes its message, the text goes on at the new version, or in the field.
 */
import { putIntoField, readUnsent, storeUnsent } from "../browser/unsent-storage.mjs";
import { showToast } from "../controls/toast.mjs";
import { isGoing } from "../state/chosen-thread.mjs";
import { isMoving } from "../state/moves.mjs";
import { _ } from "../words/words.mjs";

const { useLayoutEffect } = window.React;

const REMOVED_TEXT = _("The message that you were editing is no longer here. Your text is in the field.");

/**
 * @typedef {import("./editing.mjs").Draft} Draft
 * @typedef {{before: string[], asideId: string|null}} LastPlace  `before`: the messages up to that of the form, when it was
 *   shown last; `asideId`: its id, where a move of this page has taken it away
 */

/** @param {string} id of a message @returns {string|null} */
export const readEdit = (id) => readUnsent("edit", id);

/** Store the text of the form that is open. @param {Draft} draft */
export function storeEdit(draft) {
  storeUnsent("edit", draft.id, draft.text);
  storeOpenEdit(draft);
}

/** Store which form is open, if there is a text to keep. @param {Draft|null} draft null: none is open */
export const storeOpenEdit = (draft) =>
  storeUnsent("editing", null, draft && readEdit(draft.id) !== null ? { id: draft.id, thread: draft.thread } : null);

/** @returns {Draft|null} that of the form that was open before a reload */
export function readOpenEdit() {
  const open = readUnsent("editing", null);
  const text = open && readEdit(open.id);
  return text ? { ...open, text, problem: null, isPressed: false } : null;
}

/** @param {string} id of a message whose edit is sent or called off */
export function forgetEdit(id) {
  storeUnsent("edit", id, null);
  if (readUnsent("editing", null)?.id === id) storeUnsent("editing", null, null);
}

/**
 * Keep the text of the open form where its message is replaced or removed by another page. A move of this page sets it
 * aside: the form is there again with its message.
 * @param {import("./editing.mjs").Editing} editing
 * @param {import("../state/types.mjs").TranscriptData} data
 * @param {import("../state/types.mjs").MessageView[]} messages
 */
export function useKeptEdit({ draft, pending, place: { current: place }, follow, cancel }, data, messages) {
  const keepText = () => {
    if (draft === null) return;
    const version = messages.find(({ siblings }) => siblings.includes(draft.id));
    if (version) return follow(version);
    if (!isRemoved(data, messages, place.before)) return;
    putIntoField(draft.text);
    cancel();
    showToast(REMOVED_TEXT);
  };
  useLayoutEffect(() => {
    if (draft === null || pending !== null || draft.thread !== data.thread || isGoing()) return;
    const ids = messages.map(({ id }) => id);
    const isShown = ids.includes(draft.id);
    if (isShown) Object.assign(place, { before: ids.slice(0, ids.indexOf(draft.id)), asideId: null });
    else if (isMoving()) place.asideId = draft.id;
    else if (place.asideId !== draft.id) keepText();
  }, [messages, draft?.id, pending]);
}

/** Return whether a message is gone, and not only outside of the part that is shown. `before`: the ids up to it. */
const isRemoved = ({ earlier, later }, messages, before) =>
  !later && (!earlier || messages.some(({ id }) => before.includes(id)));
