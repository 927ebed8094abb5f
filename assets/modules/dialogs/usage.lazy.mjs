/** Tokens, costs and storage of a person, or for admins of everybody, over today, 7 and 30 days. */
import { ReadingDialog } from "../lib/dialog.lazy.mjs";
import { useFetch } from "../lib/fetch.lazy.mjs";
import { formatDollars, formatNumber, formatSize } from "../lib/format.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useState } = window.React;

const NAMES = { 1: _("Today"), 7: _("7 days"), 30: _("30 days") };
const UNREADABLE_TEXT = _("The usage cannot be read right now.");

loadStyle(new URL("./usage.lazy.css", import.meta.url));

/**
 * @typedef {import("../lib/types.mjs").Tokens & {days: number, answers: number, priced: number, cost: number}} Period
 * @typedef {{name: string, conversations: number, storage: number|null, periods: Period[]}} PersonUsage
 */

/** @param {{onClose: () => void}} props */
export function UsageDialog({ onClose }) {
  const { content, status } = useFetch("/api/usage", UNREADABLE_TEXT);
  return h(
    ReadingDialog,
    { title: _("Usage"), className: "people-usage", onClose },
    status && h("p", { role: "status" }, status),
    content?.is_admin
      ? h(EverybodysUsage, { people: content.people })
      : content && h(OwnUsage, { person: content.people[0] }),
    content &&
      h(
        "p",
        { className: "quiet" },
        _(
          "Days begin at 00:00 UTC. Costs are known for models with a price. Storage is that of messages and attached files.",
        ),
      ),
  );
}

/** One line for each period. @param {{person?: PersonUsage}} props */
function OwnUsage({ person }) {
  if (!person) return h("p", null, _("Nothing is used yet."));
  const row = (period) =>
    h("tr", { key: period.days }, h("th", { scope: "row" }, NAMES[period.days]), h(Figures, { period }));
  return h(
    "div",
    null,
    h(UsageTable, { head: h(Head, { first: _("Time") }), rows: person.periods.map(row) }),
    h("p", null, _("Storage: {storage}", { storage: formatStorage(person.storage) })),
  );
}

/** One line for each person, of a period that is chosen. @param {{people: PersonUsage[]}} props */
function EverybodysUsage({ people }) {
  const [days, setDays] = useState(30);
  const choice = ({ days: each }) =>
    h(
      "button",
      {
        key: each, type: "button", className: `btn btn-sm btn-${each === days ? "primary" : "outline-secondary"}`,
        "aria-pressed": each === days, onClick: () => setDays(each),
      },
      NAMES[each],
    );
  const row = (person) =>
    h(
      "tr",
      { key: person.name, "data-testid": "person-usage" },
      h("th", { scope: "row", dir: "auto" }, person.name),
      h(Figures, { period: person.periods.find((each) => each.days === days) }),
      h("td", null, formatNumber(person.conversations)),
      h("td", null, formatStorage(person.storage)),
    );
  if (people.length === 0) return h("p", null, _("Nothing is used yet."));
  return h(
    "div",
    null,
    h("div", { className: "usage-periods", role: "group", "aria-label": _("Time") }, people[0].periods.map(choice)),
    h(UsageTable, {
      head: h(Head, { first: _("Person"), more: [_("Conversations"), _("Storage")] }), rows: people.map(row),
    }),
  );
}

/** The table, which scrolls sideways by itself. @param {{head: any, rows: any[]}} props */
const UsageTable = ({ head, rows }) =>
  h(
    "div",
    { className: "usage-table", tabIndex: 0, role: "region", "aria-label": _("Usage") },
    h("table", { className: "table" }, head, h("tbody", null, rows)),
  );

/** @param {{first: string, more?: string[]}} props */
function Head({ first, more = [] }) {
  const names = [first, _("Answers"), _("Tokens in"), _("Tokens out"), _("Cost"), ...more];
  return h("thead", null, h("tr", null, names.map((name) => h("th", { key: name, scope: "col" }, name))));
}

/** @param {{period: Period}} props */
function Figures({ period }) {
  const cost = period.cost > 0 || period.priced > 0 ? formatDollars(period.cost) : "–";
  return [formatNumber(period.answers), formatNumber(period.input), formatNumber(period.output), cost].map((text, index) =>
    h("td", { key: index }, text),
  );
}

const formatStorage = (bytes) => (bytes === null ? "–" : formatSize(bytes));
