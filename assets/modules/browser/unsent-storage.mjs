/** What is not sent yet, kept in the session storage of the tab across a reload. It ends with the tab. */
import { nameStored } from "./addresses.mjs";
import { keep, readKeptJson } from "./storage.mjs";

/** @returns {string} the texts joined, each in its own paragraph */
export const joinTexts = (...texts) => texts.filter(Boolean).join("\n\n");

/**
 * Return a storage key. Of a conversation: the draft, the inputs of a graph beside it, the answers to its graph's questions,
 * those that the server has accepted, the queued message, a sent message without a reply, or a command that waits until its
 * conversation is shown. Of a message: the text that is to replace it. Of the tab: the message whose form is open.
 * @typedef {{text: string, request_id: string, files: number, inputs?: InputTexts, thread?: string|null,
 *   isAfterEnd?: boolean}} UnsentMessage  its request id prevents a second send; `files` is their number; `inputs` went with
 *   it; `thread` and `isAfterEnd` are of a queued one
 * @typedef {Record<string, string|number|boolean>} InputTexts  what was typed, by the names of the inputs
 * @typedef {Record<string, InputTexts>} AnswerTexts  what was typed, by the keys of the questions
 * @typedef {Record<string, {run: string, asked: string, texts: InputTexts, hasFailed?: boolean}>} AcceptedTexts  by the keys
 *   of the questions; `asked`: what the question was; `hasFailed`: the run, with its question closed
 * @typedef {{id: string, thread: string|null}} OpenEdit
 * @typedef {{draft: string, inputs: InputTexts, answers: AnswerTexts, answered: AcceptedTexts, queue: UnsentMessage,
 *   sent: UnsentMessage, command: string, edit: string, editing: OpenEdit}} Entries  by their kinds
 * @param {keyof Entries} kind
 * @param {string|null} owner conversation or message; null for a conversation that has not begun, and for the tab
 */
const getStorageKey = (kind, owner) => nameStored(`waymark-${kind}:${owner ?? ""}`);

/**
 * @template {keyof Entries} K
 * @param {K} kind @param {string|null} owner @param {Entries[K]|null} value an empty one removes the entry
 */
export function storeUnsent(kind, owner, value) {
  keep(getStorageKey(kind, owner), value ? JSON.stringify(value) : null, "sessionStorage");
}

/** @template {keyof Entries} K @param {K} kind @param {string|null} owner @returns {Entries[K]|null} */
export function readUnsent(kind, owner) {
  return readKeptJson(getStorageKey(kind, owner), "sessionStorage");
}

/** Move the entry of a new conversation to the id that the conversation received. */
export function moveUnsent(kind, thread) {
  storeUnsent(kind, thread, readUnsent(kind, null));
  storeUnsent(kind, null, null);
}

/** Put a text into the message field, before what is typed there. */
export function putIntoField(text) {
  const field = /** @type {HTMLTextAreaElement} */ (document.querySelector("[data-testid=composer]"));
  field.value = joinTexts(text, field.value);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}
