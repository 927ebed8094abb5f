/** The entries of the change log. They are one component: a Dash component for each of their parts takes seconds. */
import { icon } from "../controls/icons.mjs";
import { useNow } from "../words/clock.mjs";
import { AUTHORS, formatAge, formatDateTime } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h } = window.React;

/**
 * @typedef {{version: number, who: "user"|"agent"|"judge"|"system", person: string, text: string, time: string,
 *   undone: boolean}} LogEntry
 * @param {{data: LogEntry[]}} props
 */
export function Log({ data }) {
  const now = useNow();
  return h("ol", null, data.map((entry) => h(Entry, { key: entry.version, entry, now })));
}

/** @param {{entry: LogEntry, now: number}} props */
function Entry({ entry, now }) {
  const author = AUTHORS[entry.who];
  return h(
    "li",
    { className: `change${entry.undone ? " change-undone" : ""}`, "data-testid": "change" },
    icon(author.sign),
    h(
      "div",
      null,
      h("p", { className: "change-text" }, entry.undone ? h("s", null, entry.text) : entry.text),
      h(
        "p",
        { className: "change-meta" },
        h(
          "span",
          { className: "change-who", dir: "auto" },
          entry.who === "user" ? entry.person || author.name : [author.name, entry.person].filter(Boolean).join(" · "),
        ),
        h("time", { dateTime: entry.time, title: formatDateTime(entry.time) }, formatAge(entry.time, now)),
        entry.undone && h("span", null, _("undone")),
      ),
    ),
  );
}
