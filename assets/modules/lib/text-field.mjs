/** A text field that grows with its text. */
const MAX_MEASURED_CHARS = 5000; // more than the field shows at its maximum height

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
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight, maxPx)}px`;
}
