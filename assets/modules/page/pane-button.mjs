/** The buttons of the bar that show and hide the side panes. */
import { icon } from "../lib/icons.mjs";
import { _ } from "../lib/words.mjs";
import { isPaneShown, subscribeToPanes, togglePane } from "./panes.mjs";

const { createElement: h, useSyncExternalStore } = window.React;

const MODIFIER = /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : "Ctrl";
const BUTTONS = {
  threads: { label: _("Conversations"), signs: [["layout-sidebar", ""]], keys: `${MODIFIER}+B` },
  history: { label: _("History"), signs: [["layout-sidebar-reverse", "when-wide"], ["diamond-fill", "when-narrow"]], keys: `${MODIFIER}+Alt+B` },
};

/** A Dash component. @param {{name: "threads"|"history"}} props */
export function PaneButton({ name }) {
  const isShown = useSyncExternalStore(subscribeToPanes, () => isPaneShown(name));
  const { label, signs, keys } = BUTTONS[name];
  const names = { "aria-label": label, "data-command": name === "threads" ? _("Show or hide the conversations") : _("Show or hide History"), title: isShown ? _("Hide {label} ({keys})", { label, keys }) : _("Show {label} ({keys})", { label, keys }) };
  return h(
    "button",
    { type: "button", id: `show-${name}`, "aria-expanded": isShown, "aria-controls": `${name}-pane`, ...names, onClick: () => togglePane(name) },
    signs.map(([sign, shown]) => h("span", { key: sign, className: `pane-sign ${shown}` }, icon(sign))),
  );
}
