/**
 * The direction of writing, of a line by the same rule as components/views/directions.py, and of a dialog's fields; and
 * texts without case and accents, as the server folds them (checkpoints/values/text.py).
 */

const LETTERS = {
  ß: "ss", ς: "σ", ı: "i", ȷ: "j", ł: "l", ø: "o", đ: "d", ð: "d", ħ: "h", ŧ: "t", æ: "ae", œ: "oe", þ: "th",
};
const SPECIAL = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "g");

/** @param {string} text @returns {string} the text for a comparison */
export const foldText = (text) =>
  text.normalize("NFKD").toLowerCase().replace(SPECIAL, (letter) => LETTERS[letter]).replace(/[\u0300-\u036f]/g, "");

/**
 * List the items whose text has all words of another one.
 * @template T @param {T[]} items @param {string} text @param {(item: T) => string} getText @returns {T[]}
 */
export function findWords(items, text, getText) {
  const words = foldText(text).split(/\s+/).filter(Boolean);
  return items.filter((item) => words.every((word) => foldText(getText(item)).includes(word)));
}

const MIN_RIGHT_TO_LEFT_WORDS = 0.4; // of all words, of which the first counts twice if it is from right to left
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LETTER = /\p{L}/u;

/** @param {string} text @returns {"rtl"|"ltr"|"auto"} */
export function findDirection(text) {
  if (!RIGHT_TO_LEFT.test(text)) return "auto";
  const words = text.split(/\s+/).filter((word) => !word.includes("://"));
  const letters = words.flatMap((word) => LETTER.exec(word)?.[0] ?? []);
  if (RIGHT_TO_LEFT.test(letters[0])) letters.push(letters[0]);
  const count = letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length;
  return count >= MIN_RIGHT_TO_LEFT_WORDS * letters.length ? "rtl" : "ltr";
}

/** Let a field of a dialog take the direction of what is typed. Dash's bootstrap components have no property for it. */
export function watchFieldDirections() {
  document.addEventListener("focusin", ({ target }) => {
    const field = /** @type {HTMLInputElement} */ (target);
    if (field.type?.startsWith("text") && field.dir === "" && field.closest(".modal")) field.dir = "auto";
  });
}
