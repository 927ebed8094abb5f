/** A long pasted text becomes an attached file: the field is slow with it, and the conversation unreadable. */
import { icon } from "../controls/icons.mjs";
import { LANGUAGE, _ } from "../words/words.mjs";
import { readPastedFiles } from "./attachments.mjs";

const { createElement: h, useState } = window.React;

const MAX_PASTED_CHARS = 20_000; // into the field
const FILE_NAME = "pasted.txt";

/**
 * @param {{current: HTMLTextAreaElement}} textarea
 * @param {ReturnType<typeof import("./attachments.mjs").useAttachments>} attachments
 * @param {() => void} onInput after a text is put into the field
 * @returns {{pasted: {text: string, file: object}|null, onPaste: (event: ClipboardEvent) => void, insertPasted: () => void}}
 *   `pasted` is the last long text, as long as its file is attached
 */
export function usePasting(textarea, attachments, onInput) {
  const [latest, setLatest] = useState(null);
  const pasted = latest !== null && attachments.files.includes(latest.file) ? latest : null;
  const attachText = async (text) => {
    const [file] = await attachments.attach([new File([text], FILE_NAME, { type: "text/plain" })]);
    if (file) setLatest({ text, file });
  };
  const onPaste = (event) => {
    const files = readPastedFiles(event);
    const text = event.clipboardData.getData("text/plain");
    if (files.length === 0 && text.length <= MAX_PASTED_CHARS) return;
    event.preventDefault();
    if (files.length > 0) attachments.attach(files);
    else attachText(text);
  };
  const insertPasted = () => {
    const { current: area } = textarea;
    attachments.removeFiles([pasted.file]);
    area.setRangeText(pasted.text, area.selectionStart, area.selectionEnd, "end");
    area.focus();
    onInput();
  };
  return { pasted, onPaste, insertPasted };
}

/** @param {{pasted: {text: string}|null, maxChars: number, onInsert: () => void}} props `maxChars` of a message */
export function PasteNotice({ pasted, maxChars, onInsert }) {
  if (pasted === null) return null;
  const { length } = pasted.text;
  return h(
    "div",
    { className: "composer-queued composer-pasted", role: "status" },
    icon("paperclip"),
    h(
      "p",
      null,
      _("The pasted text ({length} characters) is attached as a file.", { length: length.toLocaleString(LANGUAGE) }),
    ),
    length <= maxChars &&
      h("button", { type: "button", className: "quiet-button", onClick: onInsert }, _("Put it into the field")),
  );
}
