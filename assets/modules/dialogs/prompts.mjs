/** Prompts: their commands, and the ways to their dialogs (components/panels/prompts.py). A prompt is text, never HTML. */
import { buildApi } from "../browser/addresses.mjs";
import { setProperties } from "../browser/properties.mjs";
import { announceChoices } from "../controls/commands.mjs";
import { showToast } from "../controls/toast.mjs";
import { openDialogAbout } from "../page/callbacks.mjs";
import { send } from "../requests/send.mjs";
import { _ } from "../words/words.mjs";
import { VariablesDialog, VARIABLE } from "./prompt-variables.mjs";

const { createElement: h } = window.React;

const ADDRESS = buildApi("prompts");
const READ_AGAIN_MS = 5000; // another tab may have changed them

/**
 * As the message field knows them. `items` is null until they are read; `readAt`: when the field last asked for them.
 * @type {{items: {id: string, name: string, excerpt: string}[]|null, readAt: number, insert: (text: string) => void}}
 */
const library = { items: null, readAt: -Infinity, insert: () => undefined };

/** Read the list: when it is old, and as a clientside callback, after a change in the dialog. */
export async function readPrompts() {
  const { reply } = await send(ADDRESS);
  if (reply === null) return;
  library.items = reply.prompts;
  announceChoices();
}

/** Open the library; with a text, the form for a new prompt. @param {string} [text] */
export const openPrompts = (text = "") =>
  text ? openDialogAbout({ text }, "prompt-dialog", "prompt-about") : openDialogAbout(null, "prompts-dialog");

/**
 * Insert a prompt into the field. Its variables are asked for first.
 * @param {{id: string}} item
 */
async function insertPrompt(item) {
  const { reply: prompt, status } = await send(`${ADDRESS}/${item.id}`);
  if (prompt === null)
    return showToast(
      status === 404 ? _("This prompt was deleted.") : _("The prompts could not be read. Please try again."),
    );
  if (prompt.text.search(VARIABLE) < 0) library.insert(prompt.text);
  else setProperties({ "prompt-variables": { data: prompt } });
}

/**
 * The dialog that asks for the variables of the prompt in `data`.
 * @param {{data?: {name: string, text: string}|null, setProps: (props: object) => void}} props
 */
export const PromptVariables = ({ data, setProps }) =>
  data ? h(VariablesDialog, { prompt: data, onInsert: library.insert, onClose: () => setProps({ data: null }) }) : null;

/** Clientside callback: insert the prompt in whose row a button was pressed, and close the list. */
export function insertPromptOfRow() {
  const { triggered, triggered_id: button } = window.dash_clientside.callback_context;
  if (!triggered[0]?.value) return window.dash_clientside.no_update; // a row has appeared
  insertPrompt({ id: button.row });
  return false;
}

function readWhenOld() {
  if (Date.now() - library.readAt < READ_AGAIN_MS) return;
  library.readAt = Date.now();
  readPrompts();
}

/**
 * List the commands of the library.
 * @param {string} text of the field
 * @param {(text: string) => void} insert puts a text into the field
 * @returns {import("../state/types.mjs").Command[]}
 */
export function listPromptCommands(text, insert) {
  library.insert = insert;
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
