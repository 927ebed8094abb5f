/** The buttons of the bar that show and hide the side panes. */
import { icon } from "../lib/icons.mjs";
import { MODIFIER_KEY } from "../lib/modifier-key.mjs";
import { _ } from "../lib/words.mjs";
import { isPaneShown, subscribeToPanes, togglePane } from "./panes.mjs";

const { createElement: h, useSyncExternalStore } = window.React;

const KEY_NAMES = { threads: "Control+B Meta+B", history: "Control+Alt+B Meta+Alt+B" };
const BUTTONS = {
  threads: { label: _("Conversations"), signs: [["layout-sidebar", ""]], keys: `${MODIFIER_KEY}+B` },
  history: {
    label: _("History"),
    signs: [
      ["layout-sidebar-reverse", "when-wide"],
      ["diamond-fill", "when-narrow"],
    ],
    keys: `${MODIFIER_KEY}+Alt+B`,
  },
};

/** A Dash component. @param {{name: "threads"|"history"}} props */
export function PaneButton({ name }) {
  const isShown = useSyncExternalStore(subscribeToPanes, () => isPaneShown(name));
  const { label, signs, keys } = BUTTONS[name];
  const command = name === "threads" ? _("Show or hide the conversations") : _("Show or hide History");
  const names = {
    "aria-label": label,
    "data-command": command,
    title: isShown ? _("Hide {label} ({keys})", { label, keys }) : _("Show {label} ({keys})", { label, keys }),
  };
  return h(
    "button",
    {
      type: "button", id: `show-${name}`, "aria-expanded": isShown, "aria-controls": `${name}-pane`,
      "aria-keyshortcuts": KEY_NAMES[name], ...names, onClick: () => togglePane(name),
    },
    signs.map(([sign, shown]) => h("span", { key: sign, className: `pane-sign ${shown}` }, icon(sign))),
  );
}
