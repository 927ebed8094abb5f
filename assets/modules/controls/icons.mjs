/** Icons are Bootstrap Icons from an installed package, and those of own-icons.svg, served as one sprite. */
import { _ } from "../words/words.mjs";
const { Fragment, createElement: h } = window.React;

/** Every icon that the page uses, by its name in the sprite. */
export const ICONS = [
  "arrow-down",
  "arrow-repeat",
  "arrow-up",
  "bar-chart",
  "box-arrow-up-right",
  "check-lg",
  "chevron-right",
  "circle-half",
  "clock-history",
  "copy",
  "diamond",
  "diamond-fill",
  "diagram-2",
  "download",
  "eraser",
  "exclamation-circle",
  "exclamation-triangle",
  "filetype-csv",
  "gear",
  "hand-index",
  "hand-thumbs-down",
  "hand-thumbs-down-fill",
  "hand-thumbs-up",
  "hand-thumbs-up-fill",
  "key",
  "keyboard",
  "layout-sidebar",
  "layout-sidebar-reverse",
  "layout-split",
  "list",
  "markdown",
  "moon-stars",
  "paperclip",
  "pencil",
  "people",
  "person",
  "pin-angle",
  "pin-angle-fill",
  "plus-lg",
  "redo",
  "robot",
  "search",
  "share",
  "shield-check",
  "signpost-2",
  "signpost-split",
  "sliders",
  "stop-circle",
  "stop-fill",
  "sun",
  "text-wrap",
  "three-dots",
  "trash3",
  "undo",
  "upload",
  "x-lg",
];

const SPRITE = new URL("icons.svg", import.meta.url).pathname; // beside the bundle, whose address this module has

/** @param {string} name a name in ICONS */
export const getIconAddress = (name) => `${SPRITE}#${name}`;

/**
 * @param {string} name a name in ICONS
 * @param {string} [className] further classes
 */
export function icon(name, className = "") {
  return h(
    "svg",
    { className: `icon ${className}`.trim(), "aria-hidden": true, focusable: "false" },
    h("use", { href: getIconAddress(name) }),
  );
}

const NAMES = { light: _("Theme: light"), dark: _("Theme: dark"), system: _("Theme: system") };
const THEMES = [["sun", "light"], ["moon-stars", "dark"], ["circle-half", "system"]];

/**
 * A Dash component, because Dash's own html has no svg. The name "theme" shows the sign and the name of the chosen theme.
 * @param {{name: string}} props
 */
export function Icon({ name }) {
  if (name !== "theme") return icon(name);
  return h(
    "span",
    { className: "theme-icons" },
    THEMES.map(([sign, choice]) =>
      h(
        Fragment,
        { key: choice },
        icon(sign, `theme-${choice}`),
        h("span", { className: `visually-hidden theme-${choice}` }, NAMES[choice]),
      ),
    ),
  );
}
