/**
 * The people whom a conversation is shared with, and the links under which strangers read a conversation, or the path to a
 * checkpoint: making one, and the list of them.
 */
import { ReadingDialog } from "../lib/dialog.lazy.mjs";
import { formatDateTime } from "../lib/format.mjs";
import { LinkField } from "../lib/link-field.lazy.mjs";
import { useServerList } from "../lib/server-list.lazy.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { encodeThread } from "../lib/thread-ids.mjs";
import { _, ngettext } from "../lib/words.mjs";
import { SharedPeople, usePeople } from "./share-people.lazy.mjs";

const { createElement: h, useId, useState } = window.React;

const UNREADABLE_TEXT = _("The links cannot be read or changed right now.");
const DAYS = [1, 7, 30, 90];
const PATTERN_EXAMPLE = "sk-*";
const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

loadStyle(new URL("./share.lazy.css", import.meta.url));

/**
 * @typedef {{id: string, checkpoint: string|null, name: string|null, redacted: boolean, shows_name: boolean,
 *   made_at: string, ends_at: string, opened: number}} Link
 */

/** @param {{thread: string, checkpoint: {id: string, name: string}|null, onClose: () => void}} props */
export function ShareDialog({ thread, checkpoint, onClose }) {
  const people = usePeople(thread, onClose);
  if (people.role === null)
    return h(
      ReadingDialog,
      { title: _("Share this conversation"), className: "share", onClose },
      people.problem && h("p", { className: "text-danger", role: "alert" }, people.problem),
    );
  const parts = checkpoint || !people.hasPeople ? null : h(SharedPeople, people);
  if (people.role !== "owner")
    return h(ReadingDialog, { title: _("People in this conversation"), className: "share", onClose }, parts);
  return h(LinkDialog, { thread, checkpoint, onClose }, parts);
}

/** @param {{thread: string, checkpoint: {id: string, name: string}|null, onClose: () => void, children: any}} props */
function LinkDialog({ thread, checkpoint, onClose, children }) {
  const { links, hasNames, problem, token, change } = useLinks(thread);
  const title = checkpoint ? _("Share {name}", { name: checkpoint.name }) : _("Share this conversation");
  const about = checkpoint
    ? _("Anyone with a link can read the messages up to this checkpoint, without an account.")
    : _("Anyone with a link can read this branch of the conversation as it is at that time, without an account.");
  return h(
    ReadingDialog,
    { title, className: "share", onClose },
    children,
    problem && h("p", { className: "text-danger", role: "alert" }, problem),
    children && h("h3", null, _("Links")),
    h("p", null, about),
    LOOPBACK.test(location.hostname) &&
      h(
        "p",
        { className: "quiet" },
        _("Waymark is served to this machine alone: a link works in its browsers, and nowhere else."),
      ),
    h(LinkForm, { hasNames, onMake: (fields) => change("", { ...fields, checkpoint: checkpoint?.id ?? null }) }),
    token &&
      h(LinkField, {
        key: token, label: _("The link is shown only now."), link: `${location.origin}/shared?token=${token}`,
      }),
    links?.length > 0 && h("h3", null, _("Links to this conversation")),
    h(
      "ul",
      null,
      links?.map((link) =>
        h(LinkLine, { key: link.id, link, onRevoke: () => change(`/${encodeURIComponent(link.id)}/revoke`, {}) }),
      ),
    ),
  );
}

/** Read the links of a conversation, make one, and end one. `token` is that of the link that was made last. */
function useLinks(thread) {
  const [token, setToken] = useState(null);
  const {
    found,
    problem,
    change: send,
  } = useServerList(`/api/threads/${encodeThread(thread)}/shares`, UNREADABLE_TEXT);
  const change = async (path, fields) => {
    const outcome = await send(path, fields);
    if (outcome?.reply) setToken(outcome.reply.token ?? null);
  };
  return { links: found?.links, hasNames: found?.has_names, token, problem, change };
}

/** @param {{hasNames: boolean, onMake: (fields: object) => void}} props */
function LinkForm({ hasNames, onMake }) {
  const id = useId();
  const onSubmit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const isOn = (name) => form.has(name);
    onMake({ days: Number(form.get("days")), redact: form.get("redact"), leave_out: isOn("results"),
      leave_out_files: isOn("files"), shows_name: isOn("name") });
  };
  return h(
    "form",
    { onSubmit, autoComplete: "off" },
    h(Choice, { name: "results", label: _("Leave out tool results"), isOn: true }),
    h(Choice, { name: "files", label: _("Leave out attached files"), isOn: false }),
    hasNames && h(Choice, { name: "name", label: _("Show my name"), isOn: false }),
    h("label", { className: "form-label", htmlFor: `${id}-words` }, _("Words to redact"), " ",
      h("span", { className: "quiet" }, _("optional, one per line"))),
    h("textarea", { id: `${id}-words`, name: "redact", className: "form-control", rows: 2, placeholder: PATTERN_EXAMPLE,
      "aria-describedby": `${id}-about` }),
    h("p", { className: "quiet", id: `${id}-about` },
      _("* matches the rest of a word. With words, attached files are left out as well. The dialog of an export says which words are not found.")),
    h(
      "div",
      { className: "share-make" },
      h("label", { htmlFor: `${id}-days` }, _("The link works for")),
      h("select", { id: `${id}-days`, name: "days", className: "form-select", defaultValue: 7 },
        DAYS.map((count) => h("option", { key: count, value: count }, ngettext("{count} day", "{count} days", count)))),
      h("button", { className: "btn btn-primary" }, _("Make a link")),
    ),
  );
}

/** @param {{name: string, label: string, isOn: boolean}} props */
function Choice({ name, label, isOn }) {
  const id = useId();
  return h(
    "div",
    { className: "form-check" },
    h("input", { id, name, type: "checkbox", className: "form-check-input", defaultChecked: isOn }),
    h("label", { htmlFor: id, className: "form-check-label" }, label),
  );
}

/** @param {{link: Link, onRevoke: () => void}} props */
function LinkLine({ link, onRevoke }) {
  const purpose = link.checkpoint ? _("Checkpoint {name}", { name: link.name ?? "–" }) : _("The conversation");
  const facts = [
    _("made {time}", { time: formatDateTime(link.made_at) }),
    _("ends {time}", { time: formatDateTime(link.ends_at) }),
    ngettext("opened {count} time", "opened {count} times", link.opened),
    link.redacted && _("parts left out"),
    link.shows_name && _("with your name"),
  ];
  return h(
    "li",
    { "data-testid": "share-link" },
    h(
      "div",
      { className: "share-text" },
      h("p", { dir: "auto" }, purpose),
      h("p", { className: "quiet" }, facts.filter(Boolean).join(" · ")),
    ),
    h(
      "button",
      {
        type: "button", className: "btn btn-outline-secondary", "aria-label": _("Revoke: {purpose}", { purpose }),
        onClick: onRevoke,
      },
      _("Revoke"),
    ),
  );
}
