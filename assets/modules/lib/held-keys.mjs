/**
 * Hold the keys while a part is loaded that will have the focus: they would write into the message field, and Enter would
 * send that.
 */
const MAX_HOLD_MS = 3000; // a network that stalls must not take the keyboard away, except for Escape
const KEYS = ["Enter", "Escape", "Backspace", "ArrowUp", "ArrowDown"];

/**
 * Load a part, show it, and type there what was typed meanwhile. Escape calls it off.
 * @param {{load: () => Promise<Function|null>}} Part a lazy component
 * @param {() => void} show the part, with the focus in it, before this returns
 */
export async function showWithKeys(Part, show) {
  const held = holdKeys();
  const loaded = await Part.load();
  const keys = held.release();
  if (loaded === null || keys.includes("Escape")) return;
  show();
  await typeKeys(keys);
}

/** Type held keys where the focus is. @param {string[]} keys */
export async function typeKeys(keys) {
  for (const key of keys) {
    typeKey(document.activeElement, key);
    await Promise.resolve(); // the part renders what this key changed
  }
}

/** @returns {{release: () => string[]}} `release` returns the keys in their order */
export function holdKeys() {
  const keys = [];
  let isLate = false;
  const stop = () => window.removeEventListener("keydown", onKeyDown, true);
  const onKeyDown = (event) => {
    const isTyped = event.key.length === 1 || KEYS.includes(event.key);
    if (!isTyped || (isLate && event.key !== "Escape") || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    keys.push(event.key);
    if (event.key === "Escape") stop();
  };
  window.addEventListener("keydown", onKeyDown, true);
  const timer = setTimeout(() => (isLate = true), MAX_HOLD_MS);
  return { release: () => (clearTimeout(timer), stop(), keys) };
}

/** @param {Element|null} element that has the focus @param {string} key as in KeyboardEvent.key */
function typeKey(element, key) {
  if (key.length === 1) document.execCommand("insertText", false, key); // the only way that keeps the field's own undo
  else if (key === "Backspace") document.execCommand("delete");
  else element?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}
