/** Prompts: their commands, and the ways to their dialogs (components/panels/prompts.py). A prompt is text, never HTML. */
import { openDialogAbout } from "../page/callbacks.mjs";
import { showDialog } from "../page/keys.mjs";
import { _ } from "../words/words.mjs";
import { VARIABLE, fetchPrompt, library, readPrompts } from "./prompt-library.mjs";
import { VariablesDialog } from "./prompt-variables.mjs";

const READ_AGAIN_MS = 5000; // another tab may have changed them

/**
 * The message field; `readAt`: when it last asked for the prompts.
 * @type {{readAt: number, insert: (text: string) => void}}
 */
const field = { readAt: -Infinity, insert: () => undefined };

/** Open the library; with a text, the form for a new prompt. @param {string} [text] */
export const openPrompts = (text = "") =>
  text ? openDialogAbout({ text }, "prompt-dialog", "prompt-about") : openDialogAbout(null, "prompts-dialog");

/**
 * Insert a prompt into the field. Its variables are asked for first.
 * @param {{id: string}} item
 */
async function insertPrompt(item) {
  const prompt = await fetchPrompt(item);
  if (prompt === null) return;
  if (prompt.text.search(VARIABLE) < 0) field.insert(prompt.text);
  else showDialog(VariablesDialog, { prompt, onInsert: field.insert });
}

/** Clientside callback: insert the prompt in whose row a button was pressed, and close the list. */
export function insertPromptOfRow() {
  const { triggered, triggered_id: button } = window.dash_clientside.callback_context;
  if (!triggered[0]?.value) return window.dash_clientside.no_update; // a row has appeared
  insertPrompt({ id: button.row });
  return false;
}

function readWhenOld() {
  if (Date.now() - field.readAt < READ_AGAIN_MS) return;
  field.readAt = Date.now();
  readPrompts();
}

/**
 * List the commands of the library.
 * @param {string} text of the field
 * @param {(text: string) => void} insert puts a text into the field
 * @returns {import("../state/types.mjs").Command[]}
 */
export function listPromptCommands(text, insert) {
  field.insert = insert;
  readWhenOld();
  const choices = () =>
    (library.items ?? []).map((item) => ({ name: item.name, detail: item.excerpt, run: () => insertPrompt(item) }));
  return [
    {
      group: _("Actions"), name: _("Insert a prompt"), word: "prompt",
      offReason: library.items?.length === 0 ? _("There are no prompts yet. /prompts adds one.") : null, choices,
    },
    { group: _("Actions"), name: _("Prompts: list, add, edit"), word: "prompts", run: () => openPrompts() },
    ...(text.trim() === ""
      ? []
      : [{ group: _("Actions"), name: _("Save the text as a prompt"), run: () => openPrompts(text) }]),
  ];
}
