/** The people of this server: links for new ones, roles, new passwords, erasure. Only admins see it. */
import { buildApi } from "../lib/addresses.mjs";
import { ReadingDialog } from "../lib/dialog.mjs";
import { formatDateTime } from "../lib/format.mjs";
import { LinkField } from "../lib/link-field.lazy.mjs";
import { useNetworkReturn } from "../lib/online.mjs";
import { send } from "../lib/send.mjs";
import { useServerList } from "../lib/server-list.lazy.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { _, ngettext } from "../lib/words.mjs";
import { followRequest } from "../page/long-request.mjs";

const { Fragment, createElement: h, useEffect, useId, useRef, useState } = window.React;

const ADDRESS = buildApi("people");
const UNREADABLE_TEXT = _("The people cannot be read or changed right now.");
const ROLES = { admin: _("Admin"), member: _("Member"), reader: _("Reader") };
const DAYS = [1, 7, 30];

/** @type {import("../page/long-request.mjs").Subject} closing the dialog cancels */
const ERASURE = { title: _("Erasure"), dialog: "dialog:modal", cancel: "dialog:modal .modal-footer .btn-outline-secondary" };

loadStyle(new URL("./people.lazy.css", import.meta.url));

/**
 * @typedef {{name: string, role: string, browsers: number, is_self: boolean}} Person
 * @typedef {{id: string, role: string, person: string|null, made_by: string, expires_at: string}} Link
 */

/** @param {{onClose: () => void}} props */
export function PeopleDialog({ onClose }) {
  const people = usePeople();
  const [leaving, setLeaving] = useState(null); // the person to erase
  const [last, setLast] = useState({ name: null, isErased: false }); // who was to be erased
  if (leaving === null)
    return h(
      ReadingDialog,
      { title: _("People"), className: "people", onClose },
      h(PeopleAndLinks, { ...people, last, onErase: setLeaving }),
    );
  const leave = (isErased) => {
    setLeaving((person) => (person === leaving ? null : person)); // an erasure goes on while another one is prepared
    setLast({ name: leaving.name, isErased });
  };
  return h(EraseDialog, {
    person: leaving, onClose: leave,
    onErase: (name, confirmed, headers) => people.change("/erase", { name, confirmed }, headers),
  });
}

function PeopleAndLinks({ found, problem, link, change, last, onErase }) {
  const hasPasswords = found?.has_passwords; // else a provider gives the roles
  const line = (person) =>
    h(PersonLine, {
      key: person.name, person, change: hasPasswords ? change : null, wasLeaving: person.name === last.name,
      onErase: () => onErase(person),
    });
  return h(
    Fragment,
    null,
    problem && h("p", { className: "text-danger", role: "alert" }, problem),
    last.isErased && h("p", { className: "quiet", role: "status" }, _("{name} is erased.", { name: last.name })),
    h("ul", null, found?.people.map(line)),
    hasPasswords === false &&
      h(
        "p",
        { className: "quiet" },
        _("People are added when they first sign in. Their groups at the provider give their role, at each sign-in."),
      ),
    hasPasswords && h("h3", null, _("Invite somebody")),
    hasPasswords && h(InviteForm, { onInvite: (fields) => change("/links", fields) }),
    link &&
      h(LinkField, {
        key: link, label: _("Give this link to one person. It works once, and is shown only now."), link,
      }),
    found?.links.length > 0 && h("h3", null, _("Links that still work")),
    h(
      "ul",
      null,
      found?.links.map((each) =>
        h(LinkLine, { key: each.id, link: each, onEnd: () => change("/links/end", { id: each.id }) }),
      ),
    ),
  );
}

/** Read the people, and change something about them. `change` returns whether it is done, and says why it is not. */
function usePeople() {
  const { found, problem, change: send } = useServerList(ADDRESS, UNREADABLE_TEXT, { readOptions: { body: {} } });
  const [link, setLink] = useState(null);
  const change = async (path, fields, headers) => {
    const outcome = await send(path, fields, headers);
    const reason = outcome?.problem ?? outcome?.reply?.problem ?? null;
    if (outcome && reason === null) setLink(outcome.reply.link ?? null);
    return { isDone: outcome !== null && reason === null, problem: reason };
  };
  return { found, problem, link, change };
}

/**
 * Without `change`, the role is only shown. `wasLeaving`: the dialog of their erasure was left, and gives the focus back.
 * @param {{person: Person, change: Function|null, wasLeaving: boolean, onErase: () => void}} props
 */
function PersonLine({ person, change, wasLeaving, onErase }) {
  const { name } = person;
  const erase = useRef(null);
  useEffect(() => {
    if (wasLeaving) erase.current.focus(); // after the dialog has taken the focus
  }, []);
  const button = (label, text, onClick, ref) =>
    h("button", { type: "button", className: "btn btn-outline-secondary", "aria-label": text, onClick, ref }, label);
  const browsers = ngettext("{count} browser signed in", "{count} browsers signed in", person.browsers);
  return h(
    "li",
    { "data-testid": "person" },
    h(
      "div",
      { className: "people-text" },
      h("p", { dir: "auto" }, name, person.is_self && h("strong", null, _(" · You"))),
      h("p", { className: "quiet" }, person.browsers > 0 ? browsers : _("not signed in")),
    ),
    h(
      "div",
      { className: "people-buttons" },
      !change && h("span", { className: "quiet" }, ROLES[person.role]),
      change &&
        h(RoleSelect, {
          label: _("Role of {name}", { name }), value: person.role, onChange: (role) => change("/role", { name, role }),
        }),
      change &&
        button(_("New password"), _("A link for a new password of {name}", { name }), () =>
          change("/links", { person: name, days: 1 }),
        ),
      button(_("Erase…"), _("Erase {name}", { name }), onErase, erase),
    ),
  );
}

/** @param {{label: string, value: string, onChange: (role: string) => void, id?: string}} props */
function RoleSelect({ label, value, onChange, id }) {
  const options = Object.entries(ROLES).map(([role, name]) => h("option", { key: role, value: role }, name));
  return h(
    "select",
    {
      id, className: "form-select", "aria-label": id ? undefined : label, value,
      onChange: (event) => onChange(event.target.value),
    },
    options,
  );
}

/** @param {{onInvite: (fields: {role: string, days: number}) => void}} props */
function InviteForm({ onInvite }) {
  const id = useId();
  const [role, setRole] = useState("member");
  const [days, setDays] = useState(7);
  const onSubmit = (event) => {
    event.preventDefault();
    onInvite({ role, days });
  };
  return h(
    "form",
    { className: "people-invite", onSubmit },
    h(
      "div",
      null,
      h("label", { htmlFor: `${id}-role` }, _("As")),
      h(RoleSelect, { id: `${id}-role`, value: role, onChange: setRole }),
    ),
    h(
      "div",
      null,
      h("label", { htmlFor: `${id}-days` }, _("The link works for")),
      h(
        "select",
        {
          id: `${id}-days`, className: "form-select", value: days, onChange: (event) => setDays(Number(event.target.value)),
        },
        DAYS.map((count) => h("option", { key: count, value: count }, ngettext("{count} day", "{count} days", count))),
      ),
    ),
    h("button", { className: "btn btn-primary" }, _("Make a link")),
    h("p", { className: "quiet" }, _("Readers can open their conversations, but change nothing.")),
  );
}

/** @param {{link: Link, onEnd: () => void}} props */
function LinkLine({ link, onEnd }) {
  const purpose =
    link.person === null
      ? _("For a new person: {role}", { role: ROLES[link.role] })
      : _("For a new password of {name}", { name: link.person });
  const until = _("until {time}", { time: formatDateTime(link.expires_at) });
  const maker = link.made_by ? _("made by {name}, {until}", { name: link.made_by, until }) : until;
  return h(
    "li",
    { "data-testid": "person-link" },
    h("div", { className: "people-text" }, h("p", { dir: "auto" }, purpose), h("p", { className: "quiet" }, maker)),
    h(
      "button",
      {
        type: "button", className: "btn btn-outline-secondary", "aria-label": _("Revoke: {purpose}", { purpose }),
        onClick: onEnd,
      },
      _("Revoke"),
    ),
  );
}

/** Count what a person has, again when a lost network is back. */
function useCount(name) {
  const [{ things, isLost }, setCounted] = useState({ things: null, isLost: false });
  const [problem, setProblem] = useState(null);
  const count = async () => {
    const counted = await send(`${ADDRESS}/count`, { body: { name }, failureText: UNREADABLE_TEXT });
    setProblem(counted.problem ?? counted.reply.problem);
    setCounted({ things: counted.reply?.things ?? null, isLost: counted.status === null });
  };
  useEffect(() => void count(), []);
  useNetworkReturn(isLost, count);
  return { things, problem, setProblem };
}

/**
 * Say how much is erased, and ask for the name.
 * @param {{person: Person, onErase: Function, onClose: (isErased: boolean) => void}} props
 */
function EraseDialog({ person, onErase, onClose }) {
  const id = useId();
  const [typed, setTyped] = useState("");
  const { name } = person;
  const { things, problem, setProblem } = useCount(name);
  const erase = async () => {
    const answer = await followRequest(ERASURE, (headers) => onErase(name, typed, headers));
    if (answer.isDone) onClose(true);
    else if (answer.problem) setProblem(answer.problem);
  };
  const buttons = h("button", { type: "button", className: "btn btn-danger", disabled: typed !== name || things === null,
    onClick: erase }, _("Erase for good"));
  return h(
    ReadingDialog,
    { title: _("Erase {name}?", { name }), className: "people", buttons, onClose: () => onClose(false) },
    problem && h("p", { className: "text-danger", role: "alert" }, problem),
    h("p", null, _("This erases the person and all that is theirs, for good:")),
    things === null ? h("p", { role: "status" }, _("Counting…"))
      : h("ul", { className: "people-things" }, things.map((each) => h("li", { key: each }, each))),
    h("p", null,
      _("Answers in progress are stopped, and their browsers are signed out. Backups and exports made earlier are not touched.")),
    h("label", { className: "form-label", htmlFor: id }, _("Write the name to confirm")),
    h("input", { id, className: "form-control", value: typed, autoComplete: "off",
      onChange: (event) => setTyped(event.target.value) }),
  );
}
