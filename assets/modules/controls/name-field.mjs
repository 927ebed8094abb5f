/** A field that edits a name in place. */
const { createElement: h, useEffect, useRef } = window.React;

/**
 * Enter and leaving the field save the new name. Escape discards it, and so does an empty field.
 * @param {{label: string, value: string, maxLength: number, onDone: (name: string|null) => void}} props
 */
export function NameField({ label, value, maxLength, onDone }) {
  const field = useRef(null);
  const isDone = useRef(false);
  useEffect(() => field.current.select(), []);
  const finish = (name) => {
    if (isDone.current) return; // removing the field blurs it
    isDone.current = true;
    onDone(name && name !== value ? name : null);
  };
  const onKeyDown = (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault(); // else the same Enter would press the button that has the focus next
    finish(event.key === "Enter" ? field.current.value.trim() : null);
  };
  return h("input", {
    ref: field,
    className: "form-control",
    dir: "auto",
    "aria-label": label,
    defaultValue: value,
    maxLength,
    autoComplete: "off",
    onKeyDown,
    onBlur: () => finish(field.current.value.trim()),
  });
}
