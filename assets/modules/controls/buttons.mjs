/** Buttons in words, and those of a sign. */
import { icon } from "./icons.mjs";

const { createElement: h } = window.React;

/** @param {string|null} className @param {any} label @param {Function|null} onClick @param {object} [more] properties */
export const button = (className, label, onClick, more = {}) =>
  h("button", { type: "button", className, onClick, ...more }, label);

/**
 * @param {string} sign @param {string} name for those who hear it, and its tip @param {Function} onClick
 * @param {{className?: string} & Record<string, any>} [more] properties
 */
export const iconButton = (sign, name, onClick, { className = "", ...more } = {}) =>
  button(`icon-button ${className}`.trim(), icon(sign), onClick, { "aria-label": name, title: name, ...more });
