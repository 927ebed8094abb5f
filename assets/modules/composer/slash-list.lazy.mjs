/** The list of slash commands above the field. The field keeps the focus. */
import { formatCount } from "../lib/format.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useEffect, useRef } = window.React;

loadStyle(new URL("./slash-list.lazy.css", import.meta.url));

/**
 * @param {{id: string, lines: import("./slash.mjs").Line[], selected: number,
 *   onChoose: (line: import("./slash.mjs").Line) => void}} props
 */
export function SlashList({ id, lines, selected, onChoose }) {
  const list = useRef(null);
  useEffect(() => {
    list.current.children[selected]?.scrollIntoView({ block: "nearest" });
  }, [selected, lines.length]);
  const option = (line, index) =>
    h(
      "div",
      {
        key: index, id: `${id}-${index}`, role: "option", className: "option", "aria-selected": index === selected,
        "aria-disabled": Boolean(line.offReason), onClick: () => onChoose(line),
      },
      h("span", { className: "slash-name" }, line.name),
      h("span", { className: "slash-detail" }, line.detail),
    );
  return h(
    "div",
    { className: "slash-box", onMouseDown: (event) => event.preventDefault() },
    h(
      "div",
      { id, ref: list, role: "listbox", tabIndex: -1, "aria-label": _("Commands"), className: "slash-list" },
      lines.map(option),
    ),
    h("p", { className: "slash-foot" }, _("Enter runs, Tab completes, Esc keeps it as text")),
    h("p", { className: "visually-hidden", role: "status" }, formatCount(lines.length, "command")),
  );
}
