/** Prompts: their commands, and the ways to their dialogs (components/panels/prompts.py). A prompt is text, never HTML. */
import { buildApi } from "../browser/addresses.mjs";
import { setProperties } from "../browser/properties.mjs";
import { button } from "../controls/buttons.mjs";
import { announceChoices } from "../controls/commands.mjs";
import { ReadingDialog } from "../controls/dialog.mjs";
import { showToast } from "../controls/toast.mjs";
import { findPressed, openDialogAbout } from "../page/callbacks.mjs";
import { send } from "../requests/send.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useEffect, useId, useRef } = window.React;

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
  text ? openDialogAbout({ text }, "prompt-dialog", "prompt-fields") : openDialogAbout(null, "prompts-dialog");

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
  const pressed = findPressed();
  if (pressed === null) return window.dash_clientside.no_update;
  insertPrompt({ id: pressed.row });
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

const VARIABLE = /\{\{\s*([\p{L}\p{N}_][\p{L}\p{N}_ -]{0,39}?)\s*\}\}/gu;
const MAX_VARIABLES = 20; // of one prompt; further ones stay text

/** @param {string} text @returns {string[]} each name once, in their order */
const listVariables = (text) =>
  [...new Set(Array.from(text.matchAll(VARIABLE), ([, name]) => name))].slice(0, MAX_VARIABLES);

/** Fill each variable in one pass: a value that has braces itself stays as it is. @param {Map<string, string>} values */
const fillVariables = (text, values) => text.replace(VARIABLE, (whole, name) => values.get(name) ?? whole);

/**
 * Ask for the variables of a prompt before its text is inserted.
 * @param {{prompt: {name: string, text: string}, onInsert: (text: string) => void, onClose: () => void}} props
 */
function VariablesDialog({ prompt, onInsert, onClose }) {
  const id = useId();
  const form = useRef(null);
  const names = listVariables(prompt.text);
  useEffect(() => form.current.elements[0].focus(), []); // after the dialog has taken the focus
  const onSubmit = (event) => {
    event.preventDefault();
    const { elements } = event.currentTarget;
    const values = new Map(names.map((name, index) => [name, elements[`value-${index}`].value]));
    onClose();
    onInsert(fillVariables(prompt.text, values));
  };
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    event.currentTarget.requestSubmit();
  };
  const field = (name, index) => [
    h("label", { key: `${name}-label`, htmlFor: `${id}-${index}`, className: "form-label", dir: "auto" }, name),
    h("textarea", {
      key: name, id: `${id}-${index}`, name: `value-${index}`, className: "form-control", dir: "auto", rows: 1,
    }),
  ];
  const buttons = button("btn btn-primary", _("Insert"), null, { type: "submit", form: id });
  return h(
    ReadingDialog,
    { title: prompt.name, className: "prompt-variables", buttons, close: _("Cancel"), onClose },
    h("form", { id, ref: form, "aria-label": _("Variables"), onSubmit, onKeyDown }, names.map(field)),
  );
}
