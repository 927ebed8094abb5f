/** The audit log: who did what beside the conversations, the newest first, in portions. */
import { ReadingDialog } from "../lib/dialog.lazy.mjs";
import { formatDateTime } from "../lib/format.mjs";
import { useNetworkReturn } from "../lib/online.lazy.mjs";
import { send } from "../lib/send.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { _, ngettext } from "../lib/words.mjs";

const { createElement: h, useEffect, useRef, useState } = window.React;

const UNREADABLE_TEXT = _("The audit log cannot be read right now.");

loadStyle(new URL("./audit.lazy.css", import.meta.url));

/**
 * @typedef {{number: number, time: string, who: string, text: string, address: string}} Entry
 * @typedef {{value: string, label: string}} Option
 */

/** @param {{onClose: () => void}} props */
export function AuditDialog({ onClose }) {
  const [filter, setFilter] = useState({ person: "", kind: "" });
  const { found, problem, readMore } = usePortions(filter);
  const choose = (name) => (value) => setFilter({ ...filter, [name]: value });
  return h(
    ReadingDialog,
    { title: _("Audit log"), className: "audit", onClose },
    problem && h("p", { className: "text-danger", role: "alert" }, problem),
    h(
      "div",
      { className: "audit-filters" },
      h(Filter, {
        label: _("Person"), all: _("Everybody"), value: filter.person, options: found?.people ?? [],
        onChange: choose("person"),
      }),
      h(Filter, {
        label: _("Kind"), all: _("Everything"), value: filter.kind, options: found?.kinds ?? [], onChange: choose("kind"),
      }),
    ),
    found?.entries.length === 0 && h("p", { className: "quiet" }, _("No entries.")),
    h(
      "ol",
      null,
      found?.entries.map((entry) => h(EntryLine, { key: entry.number, entry })),
    ),
    found?.has_more &&
      h("button", { type: "button", className: "btn btn-outline-secondary", onClick: readMore }, _("Show more")),
    found &&
      h(
        "p",
        { className: "quiet" },
        ngettext("Entries are kept for {count} day.", "Entries are kept for {count} days.", found.days),
      ),
  );
}

/** Read the newest entries that fit a filter, and on request those before them. A lost reading is repeated. */
function usePortions(filter) {
  const [found, setFound] = useState(null);
  const [{ problem, lost }, setFailure] = useState({ problem: null, lost: null }); // `lost`: what was there before it
  const wanted = useRef(null);
  const read = async (earlier) => {
    wanted.current = filter;
    const before = earlier.at(-1)?.number ?? "";
    const outcome = await send(`/api/audit?${new URLSearchParams({ ...filter, before })}`, { failureText: UNREADABLE_TEXT });
    if (wanted.current !== filter) return;
    setFailure({ problem: outcome.problem, lost: outcome.status === null ? earlier : null });
    if (outcome.reply) setFound({ ...outcome.reply, entries: [...earlier, ...outcome.reply.entries] });
  };
  useEffect(() => {
    read([]);
    return () => void (wanted.current = null);
  }, [filter]);
  useNetworkReturn(lost !== null, () => read(lost));
  return { found, problem, readMore: () => read(found.entries) };
}

/** @param {{label: string, all: string, value: string, options: Option[], onChange: (value: string) => void}} props */
function Filter({ label, all, value, options, onChange }) {
  const option = (each) => h("option", { key: each.value, value: each.value }, each.label);
  return h(
    "label",
    null,
    label,
    h(
      "select",
      { className: "form-select", value, onChange: (event) => onChange(event.target.value) },
      [{ value: "", label: all }, ...options].map(option),
    ),
  );
}

/** @param {{entry: Entry}} props */
function EntryLine({ entry }) {
  const { time, who, text, address } = entry;
  return h(
    "li",
    { "data-testid": "audit-entry" },
    h("p", null, who && [h("strong", { key: "who" }, who), " · "], text),
    h("p", { className: "quiet" }, h("time", { dateTime: time }, formatDateTime(time)), address && ` · ${address}`),
  );
}
