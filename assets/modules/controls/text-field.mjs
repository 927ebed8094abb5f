/** Text fields: one that grows with its text, and one that edits a name in place. */

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

const MAX_MEASURED_CHARS = 5000; // more than the field shows at its maximum height

/** @type {WeakMap<HTMLTextAreaElement, {value: string, width: number}>} the text and the width that each field fits */
const fitted = new WeakMap();

/**
 * Fit the height of the field to its text.
 * @param {HTMLTextAreaElement} area
 * @param {number} maxPx maximum height; a longer text scrolls
 */
export function fitHeight(area, maxPx) {
  if (area.value.length > MAX_MEASURED_CHARS) {
    area.style.height = `${maxPx}px`; // measuring 60 kB without a space takes seconds
    return;
  }
  const { value, clientWidth: width } = area;
  if (!isStillFitted(area, value, width)) {
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, maxPx)}px`;
  }
  fitted.set(area, { value, width });
}

/** Return whether a text that was only continued fits the height: most keys then lay out nothing outside of the field. */
function isStillFitted(area, value, width) {
  const before = fitted.get(area);
  return (
    before !== undefined &&
    before.width === width &&
    before.value !== "" &&
    value.startsWith(before.value) &&
    area.scrollHeight <= area.clientHeight
  );
}
