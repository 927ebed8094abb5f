/** A text field that grows with its text. */
const LONG_CHARS = 5000; // they fill the field in any case

/**
 * @param {HTMLTextAreaElement} area
 * @param {number} maxPx its greatest height; a longer text scrolls
 */
export function fitHeight(area, maxPx) {
  if (area.value.length > LONG_CHARS) {
    area.style.height = `${maxPx}px`; // measuring 60 kB without a space takes seconds
    return;
  }
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight, maxPx)}px`;
}
