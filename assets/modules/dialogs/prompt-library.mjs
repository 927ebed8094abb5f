/** The library of prompts as the message field knows it, and the requests that read it. */
import { buildApi } from "../browser/addresses.mjs";
import { announceChoices } from "../controls/commands.mjs";
import { showToast } from "../controls/toast.mjs";
import { send } from "../requests/send.mjs";
import { _ } from "../words/words.mjs";

const ADDRESS = buildApi("prompts");
const FAILURE_TEXT = _("The prompts could not be read. Please try again.");
export const VARIABLE = /\{\{\s*([\p{L}\p{N}_][\p{L}\p{N}_ -]{0,39}?)\s*\}\}/gu;

/**
 * @typedef {{id: string, name: string, excerpt: string}} PromptItem
 * @typedef {{id: string, name: string, text: string}} Prompt
 */

/** @type {{items: PromptItem[]|null}} null until they are read */
export const library = { items: null };

/** Read the list: when it is old, and as a clientside callback, after a change in the dialog. */
export async function readPrompts() {
  const { reply } = await send(ADDRESS);
  if (reply === null) return;
  library.items = reply.prompts;
  announceChoices();
}

/** @param {{id: string}} item @returns {Promise<Prompt|null>} null: the user knows that it cannot be read */
export async function fetchPrompt({ id }) {
  const { reply, status } = await send(`${ADDRESS}/${id}`);
  if (reply === null) showToast(status === 404 ? _("This prompt was deleted.") : FAILURE_TEXT);
  return reply;
}
