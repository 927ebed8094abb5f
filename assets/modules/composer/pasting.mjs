/** A long pasted text becomes an attached file: the field is slow with it, and the conversation unreadable. */
import { button } from "../controls/buttons.mjs";
import { LANGUAGE, _ } from "../words/words.mjs";
import { Notice } from "./buttons.mjs";

const { createElement: h, useState } = window.React;

const MAX_PASTED_CHARS = 20_000; // into the field
const FILE_NAME = "pasted.txt";

/**
 * @param {ReturnType<typeof import("./attachments.mjs").useAttachments>} attachments
 * @param {(text: string) => void} insertText into the field
 * @returns {{pasted: {text: string, file: object}|null, onPaste: (event: ClipboardEvent) => void, insertPasted: () => void}}
 *   `pasted` is the last long text, as long as its file is attached
 */
export function usePasting(attachments, insertText) {
  const [latest, setLatest] = useState(null);
  const pasted = latest !== null && attachments.files.includes(latest.file) ? latest : null;
  const attachText = async (text) => {
    const [file] = await attachments.attach([new File([text], FILE_NAME, { type: "text/plain" })]);
    if (file) setLatest({ text, file });
  };
  const onPaste = (event) => {
    const { files, types } = event.clipboardData;
    const text = event.clipboardData.getData("text/plain");
    // Text may come with a picture of itself, as from a spreadsheet.
    const hasFiles = files.length > 0 && !types.includes("text/plain");
    if (!hasFiles && text.length <= MAX_PASTED_CHARS) return;
    event.preventDefault();
    if (hasFiles) attachments.attach(files);
    else attachText(text);
  };
  const insertPasted = () => {
    attachments.removeFiles([pasted.file]);
    insertText(pasted.text);
  };
  return { pasted, onPaste, insertPasted };
}

/** @param {{pasted: {text: string}|null, maxChars: number, onInsert: () => void}} props `maxChars` of a message */
export function PasteNotice({ pasted, maxChars, onInsert }) {
  if (pasted === null) return null;
  const { length } = pasted.text;
  const shown = length.toLocaleString(LANGUAGE);
  const text = _("The pasted text ({length} characters) is attached as a file.", { length: shown });
  return h(
    Notice,
    { sign: "paperclip", text, className: "composer-queued composer-pasted" },
    length <= maxChars && button("quiet-button", _("Put it into the field"), onInsert),
  );
}
