/** The people whom a conversation is shared with: their names and roles, adding, removing, and leaving. */
import { useServerList } from "../lib/server-list.lazy.mjs";
import { encodeThread } from "../lib/thread-ids.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useId } = window.React;

const UNREADABLE_TEXT = _("The people cannot be read or changed right now.");
const ROLES = { owner: _("owner"), editor: _("may change it"), reader: _("may read it") };

/**
 * @typedef {{person: string, name: string, role: "editor"|"reader", is_own: boolean}} Member
 * @typedef {{role: "owner"|"editor"|"reader"|null, owner: string, members: Member[], hasPeople: boolean,
 *   problem: string|null, change: (path: string, fields: object) => Promise<boolean>, leave: () => void}} People  `role`:
 *   one's own; null: not known yet
 */

/**
 * Read the people of a conversation, and change them.
 * @param {string} thread
 * @param {() => void} onLeft
 * @returns {People}
 */
export function usePeople(thread, onLeft) {
  const address = `/api/threads/${encodeThread(thread)}/members`;
  const { found, problem, change: send } = useServerList(address, UNREADABLE_TEXT);
  const change = async (path, fields) => Boolean((await send(path, fields))?.reply);
  const leave = async () => (await change("/leave", {})) && onLeft();
  return {
    role: found?.role ?? null,
    owner: found?.owner ?? "",
    members: found?.members ?? [],
    hasPeople: Boolean(found?.has_people),
    problem,
    change,
    leave,
  };
}

/** @param {People} props */
export function SharedPeople({ role, owner, members, problem, change, leave }) {
  const isOwner = role === "owner";
  return h(
    "section",
    { className: "share-people" },
    isOwner && h("h3", null, _("People")),
    h(
      "p",
      null,
      isOwner
        ? _(
            "People whom you let in see this conversation in their list, with all that is written in it. Each answer counts for who asks.",
          )
        : _("{name} has let you into this conversation.", { name: owner }),
    ),
    problem && h("p", { className: "text-danger", role: "alert" }, problem),
    isOwner && h(MemberForm, { change }),
    h(
      "ul",
      null,
      !isOwner && h(PersonLine, { name: owner, role: "owner" }),
      members.map((member) => h(MemberLine, { key: member.person, member, isOwner, change, leave })),
    ),
  );
}

/** @param {{change: People["change"]}} props */
function MemberForm({ change }) {
  const id = useId();
  const onSubmit = async (event) => {
    event.preventDefault();
    const form = event.target;
    const { person, role } = Object.fromEntries(new FormData(form));
    if (await change("", { person, role })) form.reset();
  };
  return h(
    "form",
    { className: "share-make", onSubmit, autoComplete: "off" },
    h("label", { htmlFor: `${id}-name` }, _("Name")),
    h("input", { id: `${id}-name`, name: "person", className: "form-control", required: true, maxLength: 200 }),
    h(
      "select",
      { name: "role", className: "form-select", "aria-label": _("What they may do"), defaultValue: "editor" },
      h(RoleOptions),
    ),
    h("button", { className: "btn btn-primary" }, _("Let in")),
  );
}

const RoleOptions = () => ["editor", "reader"].map((role) => h("option", { key: role, value: role }, ROLES[role]));

/** @param {{member: Member, isOwner: boolean, change: People["change"], leave: () => void}} props */
function MemberLine({ member, isOwner, change, leave }) {
  const { person, name, role } = member;
  const pick = h(
    "select",
    {
      className: "form-select", "aria-label": _("What {name} may do", { name }), value: role,
      onChange: ({ target }) => change("/role", { person, role: target.value }),
    },
    h(RoleOptions),
  );
  const remove = h(
    "button",
    {
      type: "button", className: "btn btn-outline-secondary", "aria-label": _("Remove {name}", { name }),
      onClick: () => change("/remove", { person }),
    },
    _("Remove"),
  );
  const own =
    member.is_own && h("button", { type: "button", className: "btn btn-outline-secondary", onClick: leave }, _("Leave"));
  return h(
    PersonLine,
    { name, role: isOwner ? null : role },
    isOwner ? [h("span", { key: "pick" }, pick), h("span", { key: "remove" }, remove)] : own,
  );
}

/** @param {{name: string, role: string|null, children?: any}} props */
function PersonLine({ name, role, children }) {
  return h(
    "li",
    { "data-testid": "member" },
    h(
      "div",
      { className: "share-text" },
      h("p", { dir: "auto" }, name),
      role && h("p", { className: "quiet" }, ROLES[role]),
    ),
    children,
  );
}
