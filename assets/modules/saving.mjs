/** Saving a checkpoint: the key, the button, the form, and a save that is under way. */
import { icon } from "./icons.mjs";

const { createElement: h, useEffect, useLayoutEffect, useRef, useState } = window.React;

const NO_REPLY_MS = 6000;

/** Ctrl+S or Cmd+S from anywhere on the page, instead of the browser's "save this page". */
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

/** A save that is under way; any new data is the answer to it. A repeated try carries the same operation id. */
export function useSaving(data, act) {
  const [wish, setWish] = useState(null);
  const [isLate, setLate] = useState(false);
  const seen = useRef(data);
  useLayoutEffect(() => {
    if (seen.current !== data) setWish(null);
    seen.current = data;
  }, [data]);
  useEffect(() => {
    setLate(false);
    if (wish === null) return undefined;
    const timer = setTimeout(() => setLate(true), NO_REPLY_MS);
    return () => clearTimeout(timer);
  }, [wish]);
  const start = ({ name, description, op }) => {
    const operation = act("save", { name, description }, op);
    setWish({ name, description, op: operation });
  };
  return { wish, isLate, start, again: () => start(wish) };
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
      title: save.reason ?? "Save checkpoint (Ctrl+S)",
      onClick,
    },
    icon("diamond-fill"),
    h("span", null, "Save checkpoint"),
  );
  if (!save.reason) return button;
  return h("div", null, button, h("span", { id: "save-reason", className: "visually-hidden" }, save.reason));
}

export function SaveForm({ onSave, onCancel }) {
  const name = useRef(null);
  const description = useRef(null);
  useEffect(() => name.current.focus(), []);
  const close = (finish) => {
    finish();
    // The form is gone with its focus: give it back to the button that stands there again.
    requestAnimationFrame(() => document.querySelector('[data-testid="save"]')?.focus());
  };
  const onSubmit = (event) => {
    event.preventDefault();
    close(() => onSave(name.current.value.trim(), description.current.value.trim()));
  };
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    close(onCancel);
  };
  return h(
    "form",
    { className: "save-form", "aria-label": "Save checkpoint", onSubmit, onKeyDown },
    h("label", { htmlFor: "checkpoint-name" }, "Name ", h("span", null, "optional")),
    h("input", { id: "checkpoint-name", ref: name, className: "form-control", maxLength: 120, autoComplete: "off" }),
    h("label", { htmlFor: "checkpoint-description" }, "Description ", h("span", null, "optional")),
    h("input", { id: "checkpoint-description", ref: description, className: "form-control", maxLength: 500, autoComplete: "off" }),
    h(
      "div",
      { className: "form-buttons" },
      h("button", { type: "button", className: "btn btn-secondary", onClick: () => close(onCancel) }, "Cancel"),
      h("button", { type: "submit", className: "btn btn-primary" }, "Save"),
    ),
  );
}
