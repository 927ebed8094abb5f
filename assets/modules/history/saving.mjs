/** Save a checkpoint: the key, the button, and the pending save. */
import { button } from "../controls/buttons.mjs";
import { nameKeys } from "../controls/commands.mjs";
import { icon } from "../controls/icons.mjs";
import { useListener } from "../controls/listening.mjs";
import { showToast } from "../controls/toast.mjs";
import { closeSheets, isNarrow, showPane } from "../page/panes.mjs";
import { useRequest } from "../requests/tracked-request.mjs";
import { getChosenThread, isGoing, useChosenThread, whenShown } from "../state/chosen-thread.mjs";
import { _ } from "../words/words.mjs";
import { CheckpointForm } from "./checkpoint-form.mjs";

const { Fragment, createElement: h, useEffect, useLayoutEffect, useRef, useState } = window.React;

export const SAVE_KEYS = "Control+S Meta+S";
const MAX_QUOTE_CHARS = 80; // of the message that a new checkpoint is at

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
    requestAnimationFrame(() => (button ?? document.querySelector('[data-testid="save"]'))?.focus());
  };
  return { place, open, close };
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
 * Track a pending save. Any new data is its reply.
 * @typedef {{name: string, description: string, message?: string, request_id?: string}} Save
 */
export function useSaving(data, act) {
  /** @type {ReturnType<typeof useRequest<Save & {request_id: string}>>} */
  const { pending, isLate, start, end } = useRequest({});
  const seen = useRef(data);
  useLayoutEffect(() => {
    if (seen.current !== data && pending !== null) {
      end();
      closeSheets(); // a sheet would cover the mark of the checkpoint
    }
    seen.current = data;
  }, [data, end]);
  /** @param {Save} checkpoint */
  const save = ({ name, description, message, request_id }) => {
    const place = message && { message };
    start({ name, description, ...place, request_id: act("save", { name, description, ...place }, request_id) });
  };
  return { pending, isLate, save, retry: () => pending && save(pending) };
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

/** The checkpoint that is being saved, below the others. */
export function SavingRow({ saving }) {
  return h(
    "div",
    { className: "saving", role: "status" },
    h("p", null, saving.pending.name || _("Checkpoint")),
    saving.isLate
      ? h("p", null, _("Not saved yet: the server does not answer."))
      : h("p", null, h("span", { className: "spinner" }), _("Saving…")),
    saving.isLate && button("quiet-button", _("Try again"), saving.retry),
  );
}
