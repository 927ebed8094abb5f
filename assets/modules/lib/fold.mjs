/** Texts without case and accents, as the server folds them (checkpoints/values/text.py). */
const LETTERS = {
  ß: "ss", ς: "σ", ı: "i", ȷ: "j", ł: "l", ø: "o", đ: "d", ð: "d", ħ: "h", ŧ: "t", æ: "ae", œ: "oe", þ: "th",
};
const SPECIAL = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "g");

/** @param {string} text @returns {string} the text for a comparison */
export const foldText = (text) =>
  text.normalize("NFKD").toLowerCase().replace(SPECIAL, (letter) => LETTERS[letter]).replace(/[\u0300-\u036f]/g, "");
