/** The library of prompts as the page knows it, and the requests that read and change it. */
import { announceChoices } from "../lib/commands.mjs";
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
export async function requestPrompts(path = "", options = undefined) {
  try {
    const reply = await fetch(`${ADDRESS}${path}`, options);
    if (!reply.ok) return { items: null, problem: reply.status === 400 ? await reply.text() : FAILURE_TEXT };
    library.items = (await reply.json()).prompts;
    announceChoices();
    return { items: library.items, problem: null };
  } catch {
    return { items: null, problem: FAILURE_TEXT };
  }
}

/** @param {Prompt} prompt */
export const savePrompt = (prompt) => requestPrompts("", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(prompt) });
export const deletePrompt = ({ id }) => requestPrompts(`/${id}/delete`, { method: "POST" });

/** @returns {Promise<Prompt|null>} null: the user knows that it cannot be read */
export async function fetchPrompt({ id }) {
  const reply = await fetch(`${ADDRESS}/${id}`).catch(() => null);
  if (reply?.ok) return reply.json();
  showToast(reply?.status === 404 ? _("This prompt was deleted.") : FAILURE_TEXT);
  return null;
}
