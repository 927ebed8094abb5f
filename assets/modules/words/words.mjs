/** The words that people read, in the page's language. English is the source, and loads nothing. */
const catalogue = window.waymark?.words ?? { language: "en", forms: [], texts: {} };

/** The tag of the page's language. */
export const LANGUAGE = catalogue.language;

/** @type {Intl.PluralRules|null} */
let rules = null;
const getRules = () => (rules ??= new Intl.PluralRules(LANGUAGE));

const fill = (text, values) =>
  values ? text.replace(/\{(\w+)\}/g, (found, name) => (name in values ? String(values[name]) : found)) : text;

/**
 * Translate a text, and fill in its values.
 * @param {string} message English, with names in braces for the values
 * @param {Record<string, unknown>} [values]
 * @returns {string}
 */
export function _(message, values) {
  return fill(catalogue.texts[message] ?? message, values);
}

/**
 * Translate a text that depends on a number.
 * @param {string} one @param {string} other @param {number} count @param {Record<string, unknown>} [values] beside {count}
 * @returns {string}
 */
export function ngettext(one, other, count, values) {
  const forms = catalogue.texts[one];
  const english = count === 1 ? one : other;
  const text = forms ? forms[catalogue.forms.indexOf(getRules().select(count))] : english;
  return fill(text, { count, ...values });
}
