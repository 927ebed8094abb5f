/** What is typed into the fields of a form, checked and written as JSON. A browser's numbers are not exact beyond 2^53. */
import { formatCount } from "./format.mjs";
import { _ } from "./words.mjs";

export const NOT_JSON_TEXT = _("This is not JSON.");
const TOO_LARGE_TEXT = _("This number is too large.");
// LangGraph stores no other integers.
const MIN_INTEGER = -(2n ** 63n);
const MAX_INTEGER = 2n ** 64n - 1n;

/**
 * @typedef {import("../state/types.mjs").FormField} FormField
 * @typedef {string|number|boolean} Typed  the text of a field, or the value of a choice
 */

/** @param {Typed|undefined} value */
export const isGiven = (value) => value !== undefined && value !== "";

/**
 * Find a problem that the browser does not check by the attributes of the input.
 * @param {FormField} field @param {Typed} value @returns {string|null}
 */
export function findProblem({ kind, limits }, value) {
  if (!isGiven(value)) return null;
  if (kind === "json") return isJson(String(value)) ? null : NOT_JSON_TEXT;
  if (kind === "integer") return parseInteger(value) === null || isStorable(value) ? null : TOO_LARGE_TEXT;
  return kind === "text" ? findWrongLength(value, limits) : null;
}

/** Schemas count an emoji as one character, a browser as two. */
function findWrongLength(text, { minLength = 0, maxLength = Infinity }) {
  const { length } = [...text];
  if (length < minLength) return _("At least {characters}.", { characters: formatCount(minLength, "character") });
  return length > maxLength ? _("At most {characters}.", { characters: formatCount(maxLength, "character") }) : null;
}

/** Check a number as its input does: a field may not be shown. @param {FormField} field @param {Typed} value */
export function isNumberOutside({ kind, limits: { min = -Infinity, max = Infinity } }, value) {
  const number = Number(value);
  if (kind !== "number" && kind !== "integer") return false;
  return !Number.isFinite(number) || number < min || number > max || (kind === "integer" && !Number.isInteger(number));
}

/** @param {FormField} field @param {Typed} value @returns {string} JSON with the digits that were typed */
export function writeValue({ kind }, value) {
  if (kind === "json") return String(value);
  if (kind === "texts") return JSON.stringify(String(value).split("\n").filter((line) => line.trim() !== ""));
  if (kind !== "number" && kind !== "integer") return JSON.stringify(value);
  return isStorable(value) ? String(parseInteger(value)) : JSON.stringify(Number(value));
}

/** @param {Record<string, string>} texts JSON by name @returns {string} */
export const writeObject = (texts) =>
  `{${Object.entries(texts).map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;

/** @returns {bigint|null} */
const parseInteger = (value) =>
  /^-?\d+$/.test(value) ? BigInt(value) : Number.isInteger(Number(value)) ? BigInt(Number(value)) : null;

function isStorable(value) {
  const integer = parseInteger(value);
  return integer !== null && integer >= MIN_INTEGER && integer <= MAX_INTEGER;
}

/**
 * Return whether a text is JSON that the server takes: no number beyond a double, no half of a pair.
 * @param {string} text
 */
export function isJson(text) {
  try {
    JSON.parse(text, (key, value) => {
      if (value === Infinity || value === -Infinity || isHalved(key) || isHalved(value)) throw new TypeError("unfit");
      return value;
    });
    return true;
  } catch {
    return false;
  }
}

const isHalved = (text) => typeof text === "string" && /\p{Surrogate}/u.test(text);
