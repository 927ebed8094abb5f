/** Icons of Bootstrap, and those of own-icons.svg, served as one sprite (server/static_files.py). */
const { Fragment, createElement: h } = window.React;

const SPRITE = new URL("icons.svg", import.meta.url).pathname; // beside the bundle, whose address this module has

/** @param {string} name */
export const getIconAddress = (name) => `${SPRITE}#${name}`;

/**
 * @param {string} name
 * @param {string} [className] further classes
 */
export function icon(name, className = "") {
  return h(
    "svg",
    { className: `icon ${className}`.trim(), "aria-hidden": true, focusable: "false" },
    h("use", { href: getIconAddress(name) }),
  );
}

/** An icon before a text. */
export const withIcon = (name, text) => h(Fragment, null, icon(name), text);

/** A Dash component, because Dash's own html has no svg. @param {{name: string}} props */
export const Icon = ({ name }) => icon(name);
