/** A text field that grows with its text. */

const LONG = 5000; // characters that fill the field in any case

/**
 * @param {HTMLTextAreaElement} area
 * @param {number} tallest in pixels; what is more scrolls
 */
export function fitHeight(area, tallest) {
  if (area.value.length > LONG) {
    area.style.height = `${tallest}px`; // measuring 60 kB without a space takes seconds
    return;
  }
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight, tallest)}px`;
}
