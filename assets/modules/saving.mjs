/** Saving a checkpoint: the key, the button, the form, and a save that is under way. */
import { icon } from "./icons.mjs";

const { createElement: h, useEffect, useId, useLayoutEffect, useRef, useState } = window.React;

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

/**
 * A name and a description, of a new checkpoint or of one that is there.
 * @param {{title: string, checkpoint?: {name: string, description: string},
 *   onSave: (name: string, description: string) => void, onCancel: () => void}} props
 */
export function CheckpointForm({ title, checkpoint, onSave, onCancel }) {
  const id = useId();
  const name = useRef(null);
  const description = useRef(null);
  useEffect(() => name.current.select(), []);
  const onSubmit = (event) => {
    event.preventDefault();
    onSave(name.current.value.trim() || (checkpoint?.name ?? ""), description.current.value.trim());
  };
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    onCancel();
  };
  const field = (part, label, ref, maxLength) => [
    h("label", { key: `${part}-label`, htmlFor: `${id}-${part}` }, label, " ", (part !== "name" || !checkpoint) && h("span", null, "optional")),
    h("input", {
      key: part,
      id: `${id}-${part}`,
      ref,
      className: "form-control",
      defaultValue: checkpoint?.[part] ?? "",
      maxLength,
      autoComplete: "off",
    }),
  ];
  return h(
    "form",
    { className: "save-form", "aria-label": title, onSubmit, onKeyDown },
    field("name", "Name", name, 120),
    field("description", "Description", description, 500),
    h(
      "div",
      { className: "form-buttons" },
      h("button", { type: "button", className: "btn btn-secondary", onClick: onCancel }, "Cancel"),
      h("button", { type: "submit", className: "btn btn-primary" }, "Save"),
    ),
  );
}
