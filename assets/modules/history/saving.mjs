/** Save a checkpoint: the key, the button, and the pending save. */
import { icon } from "../lib/icons.mjs";
import { useRequest } from "../lib/tracked-request.mjs";
import { _ } from "../lib/words.mjs";
import { closeSheets } from "../page/panes.mjs";

const { createElement: h, useEffect, useLayoutEffect, useRef } = window.React;

/** Save on Ctrl+S or Cmd+S anywhere on the page, instead of the browser's "save this page". */
export function useSaveKey(onSave) {
  const latest = useRef(onSave);
  latest.current = onSave;
  useEffect(() => {
    const onKeyDown = (event) => {
      const isSave = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "s";
      if (!isSave) return;
      event.preventDefault();
      if (!document.querySelector(".modal.show")) latest.current();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** Track a pending save. Any new data is its reply. */
export function useSaving(data, act) {
  const { pending, isLate, start, end } = useRequest({});
  const seen = useRef(data);
  useLayoutEffect(() => {
    if (seen.current !== data && pending !== null) {
      end();
      closeSheets(); // a sheet would cover the mark of the checkpoint
    }
    seen.current = data;
  }, [data, end]);
  const save = ({ name, description, message, request_id }) => {
    const place = message && { message };
    start({ name, description, ...place, request_id: act("save", { name, description, ...place }, request_id) });
  };
  return { pending, isLate, save, retry: () => save(pending) };
}

export function SaveButton({ save, onClick }) {
  const button = h(
    "button",
    {
      type: "button",
      className: "save-button",
      "data-testid": "save",
      "aria-disabled": !save.enabled,
      "aria-describedby": save.reason ? "save-reason" : undefined,
      "aria-keyshortcuts": "Control+S Meta+S",
      title: save.reason ?? _("Save checkpoint (Ctrl+S)"),
      onClick,
    },
    icon("diamond-fill"),
    h("span", null, _("Save checkpoint")),
  );
  if (!save.reason) return button;
  return h("div", null, button, h("span", { id: "save-reason", className: "visually-hidden" }, save.reason));
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
    saving.isLate && h("button", { type: "button", className: "quiet-button", onClick: saving.retry }, _("Try again")),
  );
}
