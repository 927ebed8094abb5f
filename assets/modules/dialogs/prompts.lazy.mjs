/** The dialog of the library of prompts: list, add, edit, delete, insert. */
import { createRequestId } from "../lib/actions.mjs";
import { ReadingDialog } from "../lib/dialog.mjs";
import { icon } from "../lib/icons.mjs";
import { useServerList } from "../lib/server-list.lazy.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { _ } from "../lib/words.mjs";
import { ADDRESS, FAILURE_TEXT, fetchPrompt, keepPrompts } from "./prompt-library.mjs";

const { createElement: h, useEffect, useId, useRef, useState } = window.React;

const MAX_NAME_CHARS = 120;

loadStyle(new URL("./prompts.lazy.css", import.meta.url));

/**
 * @param {{text: string, onInsert: (item: object) => void, onClose: () => void}} props `text`: of a new prompt; empty: the
 *   list is shown
 */
export function PromptsDialog({ text, onInsert, onClose }) {
  const library = useLibrary(text);
  const { items, problem, edited, deleted, setEdited, save, remove, restore } = library;
  const { newButton, editButton, lastId } = useListFocus(library);
  const formId = useId();
  const add = () => setEdited({ id: createRequestId(), name: "", text: "" });
  // Keys: one element for both would submit the form that its own press has opened.
  const buttons = edited
    ? h("button", { key: "save", type: "submit", form: formId, className: "btn btn-primary" }, _("Save"))
    : h("button", { key: "new", ref: newButton, type: "button", className: "btn btn-primary", onClick: add },
        _("New prompt"),
      );
  return h(
    ReadingDialog,
    {
      title: edited ? _("Prompt") : _("Prompts"), className: "prompts", buttons,
      onClose: edited ? () => setEdited(null) : onClose,
    },
    problem && h("p", { className: "prompts-problem", role: "alert" }, problem),
    edited
      ? h(PromptForm, { key: edited.id, id: formId, prompt: edited, onSave: save })
      : h(PromptList, {
          items, editButton, lastId, onEdit: setEdited, onDelete: remove,
          onInsert: (item) => (onClose(), onInsert(item)),
        }),
    !edited &&
      deleted &&
      h("p", { className: "last-change", role: "status" },
        h("span", null, _("“{name}” was deleted.", { name: deleted.name })),
        h("button", { type: "button", className: "quiet-button", onClick: restore },
          icon("undo"),
          _("Undo"),
        ),
      ),
  );
}

/**
 * Keep the focus in the list: on the button of the prompt that was edited last, else on the one that begins a prompt.
 * @returns {{newButton: object, editButton: object, lastId: string|null}} the references of both buttons
 */
function useListFocus({ items, edited }) {
  const newButton = useRef(null);
  const editButton = useRef(null);
  const lastId = useRef(null);
  if (edited) lastId.current = edited.id;
  const isEmpty = items?.length === 0 && !edited;
  useEffect(() => {
    if (isEmpty) newButton.current.focus(); // after the dialog has taken the focus
  }, [isEmpty]);
  useEffect(() => {
    // what had the focus is gone
    if (edited || items === null || document.activeElement !== document.body) return;
    (editButton.current ?? newButton.current)?.focus();
    lastId.current = null;
  }, [edited, items]);
  return { newButton, editButton, lastId: lastId.current };
}

/** Read the prompts, and change them. */
function useLibrary(text) {
  const { found, problem, change } = useServerList(ADDRESS, FAILURE_TEXT);
  const [edited, setEdited] = useState(() => (text ? { id: createRequestId(), name: "", text } : null));
  const [deleted, setDeleted] = useState(null);
  const items = found?.prompts ?? null;
  useEffect(() => void (items && keepPrompts(items)), [items]);
  const once = useOnce();
  const isDone = async (path, fields) => {
    const reply = (await change(path, fields))?.reply;
    if (reply?.prompts) keepPrompts(reply.prompts); // the dialog may have closed before the reply
    return Boolean(reply);
  };
  const save = once(async (prompt) => (await isDone("", prompt)) && setEdited(null));
  const remove = once(async (item) => {
    const prompt = await fetchPrompt(item); // whole, so that Undo can save it again
    if (prompt !== null && (await isDone(`/${prompt.id}/delete`, {}))) setDeleted(prompt);
  });
  const restore = once(async () => (await isDone("", deleted)) && setDeleted(null));
  return { items, problem, edited, deleted, setEdited, save, remove, restore };
}

/** Return a function that makes a change ignore presses while any change is under way. */
function useOnce() {
  const isChanging = useRef(false);
  return (change) => async (...values) => {
    if (isChanging.current) return;
    isChanging.current = true;
    await change(...values).finally(() => (isChanging.current = false));
  };
}

function PromptList({ items, editButton, lastId, onEdit, onDelete, onInsert }) {
  const edit = async (item) => {
    const prompt = await fetchPrompt(item);
    if (prompt !== null) onEdit(prompt);
  };
  if (items === null) return h("p", { className: "quiet", role: "status" }, _("Reading…"));
  if (items.length === 0)
    return h(
      "p",
      { className: "quiet" },
      _("No prompts yet. A prompt is a text that you use again; {{name}} in it is asked for when you insert it."),
    );
  const button = (label, name, onClick, ref) =>
    h("button", { type: "button", className: "btn btn-outline-secondary", "aria-label": name, onClick, ref }, label);
  const line = (item) =>
    h(
      "li",
      { key: item.id, "data-testid": "prompt" },
      h(
        "div",
        { className: "prompts-text" },
        h("p", { dir: "auto" }, item.name),
        h("p", { className: "quiet", dir: "auto" }, item.excerpt),
      ),
      h(
        "div",
        { className: "prompts-buttons" },
        button(_("Insert"), _("Insert {name}", item), () => onInsert(item)),
        button(_("Edit"), _("Edit {name}", item), () => edit(item), item.id === lastId ? editButton : undefined),
        button(_("Delete"), _("Delete {name}", item), () => onDelete(item))),
    );
  return h("ul", null, items.map(line));
}

function PromptForm({ id, prompt, onSave }) {
  const form = useRef(null);
  useEffect(() => form.current.elements[0].focus(), []); // after the dialog has taken the focus
  const onSubmit = (event) => {
    event.preventDefault();
    const [name, text] = ["name", "text"].map((part) => event.currentTarget.elements[part].value);
    onSave({ id: prompt.id, name, text });
  };
  return h(
    "form",
    { id, ref: form, "aria-label": _("Prompt"), onSubmit },
    h("label", { htmlFor: `${id}-name`, className: "form-label" }, _("Name")),
    h("input", {
      id: `${id}-name`,
      name: "name",
      className: "form-control",
      dir: "auto",
      defaultValue: prompt.name,
      maxLength: MAX_NAME_CHARS,
      required: true,
      autoComplete: "off",
    }),
    h("label", { htmlFor: `${id}-text`, className: "form-label" }, _("Text")),
    h("textarea", {
      id: `${id}-text`,
      name: "text",
      className: "form-control",
      dir: "auto",
      rows: 8,
      defaultValue: prompt.text,
      required: true,
      "aria-describedby": `${id}-about`,
    }),
    h(
      "p",
      { id: `${id}-about`, className: "quiet" },
      _("{{name}} is asked for when you insert the prompt, for example {{language}}."),
    ),
  );
}
