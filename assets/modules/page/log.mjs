/** The log of the conversation: each change with its author and time, and buttons for undo and redo. */
import { useActions } from "../lib/actions.mjs";
import { AUTHORS } from "../lib/authors.mjs";
import { useNow } from "../lib/clock.mjs";
import { formatAge, formatDateTime } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h } = window.React;

const PAGE_ENTRIES = 200; // changes at first; each "Show more" adds as many
let lastClicks = 0;

/**
 * Clientside callback: request the log when it is being opened or is open, and say how many entries to read.
 * @param {number|undefined} clicks of the button that opens it
 * @param {object|undefined} head each new value means that there are new entries
 * @param {{type: string, count: number}|undefined} action the log's last action
 * @param {boolean} isOpen
 */
export function requestLog(clicks, head, action, isOpen) {
  const opening = (clicks ?? 0) > lastClicks;
  lastClicks = clicks ?? 0;
  if (!opening && !isOpen) return window.dash_clientside.no_update;
  return { opening, count: opening ? PAGE_ENTRIES : (action?.count ?? PAGE_ENTRIES), at: Date.now() };
}

/**
 * @typedef {{version: number, who: "user"|"agent"|"judge"|"system", person: string, text: string, time: string,
 *   undone: boolean}} LogEntry
 * @typedef {{thread: string|null, version: number, entries: LogEntry[], count: number, more: boolean,
 *   undo: string|null, redo: string|null, read_only: boolean}} LogData
 * @param {{id: string, data?: LogData, setProps: Function}} props
 */
export function Log(props) {
  const act = useActions(props);
  const now = useNow();
  const { data } = props;
  if (!data) return h("div", { id: props.id });
  const { thread, count } = data;
  return h(
    "div",
    { id: props.id, className: "changes" },
    !data.read_only && h(
      "div",
      { className: "changes-head" },
      h(StepButton, {
        text: data.undo ? _("Undo {undo}", data) : _("Nothing to undo"), isOn: Boolean(data.undo),
        sign: "undo", onClick: () => act("undo", { thread, count }),
      }),
      h(StepButton, {
        text: data.redo ? _("Redo {redo}", data) : _("Nothing to redo"), isOn: Boolean(data.redo), sign: "redo",
        onClick: () => act("redo", { thread, count }),
      }),
    ),
    data.entries.length === 0 && h("p", { className: "pane-empty" }, _("No changes yet.")),
    h("ol", null, data.entries.map((entry) => h(Entry, { key: entry.version, entry, now }))),
    data.more &&
      h(
        "button",
        {
          type: "button", className: "quiet-button",
          onClick: () => props.setProps({ action: { type: "more", count: count + PAGE_ENTRIES } }),
        },
        _("Show more"),
      ),
  );
}

function StepButton({ text, isOn, sign, onClick }) {
  return h(
    "button",
    { type: "button", className: "quiet-button", disabled: !isOn, title: text, onClick },
    icon(sign),
    h("span", null, text),
  );
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
