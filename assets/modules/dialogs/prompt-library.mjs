/** The library of prompts as the page knows it, and the requests that read and change it. */
import { announceChoices } from "../lib/commands.mjs";
import { send } from "../lib/send.mjs";
import { showToast } from "../lib/toast.mjs";
import { _ } from "../lib/words.mjs";

const ADDRESS = "/api/prompts";
const FAILURE_TEXT = _("The prompts could not be read or changed. Please try again.");
export const VARIABLE = /\{\{\s*([\p{L}\p{N}_][\p{L}\p{N}_ -]{0,39}?)\s*\}\}/gu;

/**
 * @typedef {{id: string, name: string, excerpt: string}} PromptItem
 * @typedef {{id: string, name: string, text: string}} Prompt
 */

/** @type {{items: PromptItem[]|null}} null until they are read */
export const library = { items: null };

/**
 * Read the list, or change a prompt: each reply is the list.
 * @returns {Promise<{items: PromptItem[]|null, problem: string|null}>} one of the two is null
 */
export async function requestPrompts(path = "", options = {}) {
  const { reply, problem } = await send(`${ADDRESS}${path}`, { ...options, failureText: FAILURE_TEXT });
  if (reply === null) return { items: null, problem };
  library.items = reply.prompts;
  announceChoices();
  return { items: library.items, problem: null };
}

/** @param {Prompt} prompt */
export const savePrompt = (prompt) => requestPrompts("", { body: prompt });
export const deletePrompt = ({ id }) => requestPrompts(`/${id}/delete`, { method: "POST" });

/** @returns {Promise<Prompt|null>} null: the user knows that it cannot be read */
export async function fetchPrompt({ id }) {
  const { reply, status } = await send(`${ADDRESS}/${id}`, { failureText: FAILURE_TEXT });
  if (reply === null) showToast(status === 404 ? _("This prompt was deleted.") : FAILURE_TEXT);
  return reply;
}
