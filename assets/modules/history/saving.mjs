/** Save a checkpoint: the key, the button, and the pending save. */
import { button } from "../controls/buttons.mjs";
import { nameKeys } from "../controls/commands.mjs";
import { icon } from "../controls/icons.mjs";
import { useListener } from "../controls/listening.mjs";
import { showToast } from "../controls/toast.mjs";
import { closeSheets, isNarrow, showPane } from "../page/panes.mjs";
import { NO_REPLY_MS } from "../requests/tracked-request.mjs";
import { createRequestId } from "../state/actions.mjs";
import { getChosenThread, isGoing, useChosenThread, whenShown } from "../state/chosen-thread.mjs";
import { sendAction } from "../state/panels.mjs";
import { findSeenVersion } from "../state/seen-version.mjs";
import { _ } from "../words/words.mjs";
import { CheckpointForm } from "./checkpoint-form.mjs";

const { Fragment, createElement: h, useEffect, useRef, useState } = window.React;

export const SAVE_KEYS = "Control+S Meta+S";
const MAX_QUOTE_CHARS = 80; // of the message that a new checkpoint is at
const MAX_REPEAT_MS = 500; // of a key that is pressed more than once

/** Save on Ctrl+S or Cmd+S anywhere on the page, instead of the browser's "save this page". */
function useSaveKey(onSave) {
  useListener(document, "keydown", (event) => {
    const isSave = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "s";
    if (!isSave) return;
    event.preventDefault();
    if (!document.querySelector(".modal.show")) onSave();
  });
}

/** Open and close the form for a new checkpoint of the chosen conversation: by its button, its key or the palette. */
export function useForm({ thread, save }) {
  const [place, setPlace] = useState(null); // the message of the checkpoint; {}: the end of the conversation
  const opener = useRef(null);
  const { isShown, thread: chosen } = useChosenThread();
  useEffect(() => setPlace(null), [isShown ? thread : chosen]);
  /** @param {{message?: string, quote?: string}} [place] */
  const open = ({ message, quote } = {}) => {
    const mayBeSaved = isGoing() ? getChosenThread().thread !== null : save.enabled;
    if (mayBeSaved) {
      opener.current = message ? document.activeElement : null;
      showPane("history");
      setPlace(message ? { message, quote: quote?.slice(0, MAX_QUOTE_CHARS) } : {});
    } else if (save.reason && !isGoing()) showToast(save.reason);
  };
  useSaveKey(() => open());
  const close = () => {
    setPlace(null);
    // The closed form took the focus with it: return the focus to the button that opened it, or that replaces it.
    const button = opener.current?.isConnected && !isNarrow() ? opener.current : null;
    requestAnimationFrame(() => returnFocus(button ?? document.querySelector('[data-testid="save"]')));
  };
  return { place, open, close };
}

/** Focus a button, which does nothing while the key that has closed the form is still pressed, or is pressed once more. */
function returnFocus(/** @type {HTMLElement|null} */ button) {
  let pressedAt = performance.now();
  const ignoreRepeated = (event) => {
    if (event.key !== "Enter" || !(event.repeat || performance.now() - pressedAt < MAX_REPEAT_MS)) return;
    pressedAt = performance.now();
    event.preventDefault();
  };
  button?.addEventListener("keydown", ignoreRepeated);
  button?.addEventListener("blur", () => button.removeEventListener("keydown", ignoreRepeated), { once: true });
  button?.focus();
}

/** The form. What is saved before its conversation is shown waits for it. */
export function NewCheckpoint({ form, saving, others }) {
  const { message, quote } = form.place;
  const onSave = (name, description) => {
    form.close();
    whenShown(() => saving.save({ name, description, message }));
  };
  return h(
    "div",
    { className: "history-save" },
    h(CheckpointForm, { key: message ?? "", title: _("Save checkpoint"), quote, others, onSave, onCancel: form.close }),
  );
}

/**
 * Track the checkpoints that are being saved: each until its own request is answered, or the person dismisses it.
 * @typedef {{name: string, description: string, message?: string}} NewCheckpoint
 * @typedef {NewCheckpoint & {request_id: string, thread: string|null, head?: string|null, isLate: boolean}} Save
 *   `head`: the message at which the conversation ended then
 * @param {string} list its id @param {import("../state/types.mjs").HistoryData} data
 */
export function useSaving(list, data) {
  /** @type {[Save[], Function]} */
  const [saves, setSaves] = useState([]);
  const latest = useRef(data);
  latest.current = data;
  const dismiss = (save) => setSaves((all) => all.filter(({ request_id }) => request_id !== save.request_id));
  const mark = (save, isLate) =>
    setSaves((all) => all.map((each) => (each.request_id === save.request_id ? { ...each, isLate } : each)));
  const send = async (save) => {
    mark(save, false);
    const timer = setTimeout(mark, NO_REPLY_MS, save, true);
    const isAnswered = await sendSave(list, save, latest.current);
    clearTimeout(timer);
    if (!isAnswered) return mark(save, true);
    dismiss(save);
    if (getChosenThread().thread === save.thread) closeSheets(); // a sheet would cover the mark of the checkpoint
  };
  /** @param {NewCheckpoint} checkpoint */
  const save = ({ name, description, message }) => {
    const { thread } = latest.current;
    const head = findHead(latest.current);
    const begun = { name, description, message, request_id: createRequestId(), thread, head, isLate: false };
    setSaves((all) => [...all, begun]);
    send(begun);
  };
  return { pending: saves.filter(({ thread }) => thread === data.thread), save, retry: send, dismiss };
}

const findHead = ({ branches }) => branches.find(({ current }) => current)?.message;

/** Send a checkpoint, or send it again. It stays where it was asked for, though the conversation may have gone on. */
function sendSave(list, { name, description, message, head, thread, request_id }, data) {
  const place = message ?? (findHead(data) === head ? null : head);
  const version = findSeenVersion(thread, data.version);
  const action = { type: "save", version, name, description, message: place, request_id };
  return sendAction(list, action, { thread });
}

export function SaveButton({ save, onClick }) {
  const label = h(Fragment, null, icon("diamond-fill"), h("span", null, _("Save checkpoint")));
  const saveButton = button("save-button", label, onClick, {
    "data-testid": "save",
    "aria-disabled": !save.enabled,
    "aria-describedby": save.reason ? "save-reason" : undefined,
    "aria-keyshortcuts": SAVE_KEYS,
    title: save.reason ?? _("Save checkpoint ({keys})", { keys: nameKeys(SAVE_KEYS).join("+") }),
  });
  if (!save.reason) return saveButton;
  return h("div", null, saveButton, h("span", { id: "save-reason", className: "visually-hidden" }, save.reason));
}

/** A checkpoint that is being saved, below the others. */
export function SavingRow({ save, saving }) {
  return h(
    "div",
    { className: "saving", role: "status" },
    h("p", null, save.name || _("Checkpoint")),
    save.isLate
      ? h("p", null, _("Not saved yet: the server does not answer."))
      : h("p", null, h("span", { className: "spinner" }), _("Saving…")),
    save.isLate && button("quiet-button", _("Try again"), () => saving.retry(save)),
    save.isLate && button("quiet-button", _("Dismiss"), () => saving.dismiss(save)),
  );
}
