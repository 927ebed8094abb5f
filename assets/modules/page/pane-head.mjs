/** The heading of a side pane, with the button that closes the pane as a sheet. */
import { icon } from "../lib/icons.mjs";
import { LANGUAGE, _ } from "../lib/words.mjs";
import { closeSheets } from "./panes.mjs";

const { createElement: h } = window.React;

/** @param {{title: string, id: string, children?: any}} props */
export function PaneHead({ title, id, children }) {
  return h(
    "div",
    { className: "pane-head" },
    h("h2", { id }, title),
    children,
    h(
      "button",
      {
        type: "button", className: "icon-button sheet-close",
        "aria-label": _("Close {title}", { title: LANGUAGE === "en" ? title.toLowerCase() : title }),
        onClick: () => closeSheets(),
      },
      icon("x-lg"),
    ),
  );
}
