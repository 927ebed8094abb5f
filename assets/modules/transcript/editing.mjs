/**
 * Edit a user's message: replace its text only, or ask the agent again from there. Texts that are not sent are in the tab's
 * session storage: a form keeps its text when it closes, and is open again after a reload. Where another page changes or
 * removes its message, the text goes on at the new version, or in the field.
 */
import { putIntoField, readUnsent, storeUnsent } from "../browser/unsent-storage.mjs";
import { button } from "../controls/buttons.mjs";
import { nameKeys } from "../controls/commands.mjs";
import { showToast } from "../controls/toast.mjs";
import { isFocusUnclaimed } from "../page/lost-focus.mjs";
import { useRequest } from "../requests/tracked-request.mjs";
import { isGoing } from "../state/chosen-thread.mjs";
import { isMoving } from "../state/moves.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useCallback, useLayoutEffect, useRef, useState } = window.React;

const NO_REPLY_TEXT = _("Not sent yet: the server does not answer. Your text is kept.");
const CHANGED_TEXT = _("This message was changed meanwhile. Your text is kept, and Send replaces the new version.");
const REMOVED_TEXT = _("The message that you were editing is no longer here. Your text is in the field.");

/** @param {string} id of a message @returns {string|null} */
const readEdit = (id) => readUnsent("edit", id);

/** Store the text of the form that is open. @param {Draft} draft */
function storeEdit(draft) {
  storeUnsent("edit", draft.id, draft.text);
  storeOpenEdit(draft);
}

/** Store which form is open, if there is a text to keep. @param {Draft|null} draft null: none is open */
const storeOpenEdit = (draft) =>
  storeUnsent("editing", null, draft && readEdit(draft.id) !== null ? { id: draft.id, thread: draft.thread } : null);

/** @returns {Draft|null} that of the form that was open before a reload */
function readOpenEdit() {
  const open = readUnsent("editing", null);
  const text = open && readEdit(open.id);
  return text ? { ...open, text, problem: null, isPressed: false } : null;
}

/** @param {string} id of a message whose edit is sent or called off */
function forgetEdit(id) {
  storeUnsent("edit", id, null);
  if (readUnsent("editing", null)?.id === id) storeUnsent("editing", null, null);
}

/**
 * @typedef {{id: string, thread: string|null, text: string, problem: string|null, isPressed: boolean}} Draft  of the message
 *   with that id; `isPressed`: the person has opened the form, which takes the focus
 * @typedef {{request_id: string, type: "edit"|"change", message: string}} EditRequest
 * @typedef {{before: string[], asideId: string|null}} LastPlace  `before`: the messages up to that of the form, when it was
 *   shown last; `asideId`: its id, where a move of this page has taken it away
 * @typedef {ReturnType<typeof useEditing>} Editing
 * @param {import("../state/types.mjs").Reply|undefined} reply
 * @param {import("../state/types.mjs").Act} act
 * @param {string|null} thread that is shown
 */
export function useEditing(reply, act, thread) {
  /** @type {[Draft|null, Function]} kept over other conversations and a reload, so that no typed text is lost */
  const [draft, setDraft] = useState(readOpenEdit);
  const setProblem = (problem) => setDraft((now) => now && { ...now, problem });
  const finish = (id) => (forgetEdit(id), setDraft(null));
  /** @param {EditRequest} request @param {import("../state/types.mjs").Reply} answer */
  const onReply = ({ message }, { ok, text }) => (ok ? finish(message) : setProblem(text));
  /** @type {ReturnType<typeof useRequest<EditRequest>>} */
  const { pending, start, end } = useRequest({ reply, onReply, onLate: () => setProblem(NO_REPLY_TEXT) });
  /** @type {{current: LastPlace}} */
  const place = useRef({ before: [], asideId: null });
  const show = (next) => (storeOpenEdit(next), setDraft(next));
  const keep = (next) => (storeEdit(next), setDraft(next));
  const latest = useRef({});
  latest.current = { pending, thread };
  const open = useCallback(({ id, text }) => {
    const now = latest.current; // the message is not rendered again for it
    if (!now.pending) show({ id, thread: now.thread, text: readEdit(id) ?? text, problem: null, isPressed: true });
  }, []);
  const close = () => (end(), show(null));
  const forget = () => draft && forgetEdit(draft.id);
  const cancel = () => (forget(), close());
  const type = (text) => keep({ ...draft, text });
  /** Go on with the text at another version of its message. */
  const follow = ({ id }) => {
    forget();
    keep({ ...draft, id, problem: CHANGED_TEXT, isPressed: false });
  };
  const ask = (kind, { id, text }) => {
    start({ type: kind, message: id, request_id: act(kind, { message: id, text }, pending?.request_id) });
    setProblem(null);
  };
  return { draft, pending, place, open, close, cancel, type, follow, ask };
}

/**
 * Keep the text of the open form where its message is replaced or removed by another page. A move of this page sets it
 * aside: the form is there again with its message.
 * @param {Editing} editing
 * @param {import("../state/types.mjs").TranscriptData} data
 * @param {import("../state/types.mjs").MessageView[]} messages
 */
export function useKeptEdit({ draft, pending, place: { current: place }, follow, cancel }, data, messages) {
  const keepText = () => {
    if (draft === null) return;
    const version = messages.find(({ siblings }) => siblings.includes(draft.id));
    if (version) return follow(version);
    if (!isRemoved(data, messages, place.before)) return;
    putIntoField(draft.text);
    cancel();
    showToast(REMOVED_TEXT);
  };
  useLayoutEffect(() => {
    if (draft === null || pending !== null || draft.thread !== data.thread || isGoing()) return;
    const ids = messages.map(({ id }) => id);
    const isShown = ids.includes(draft.id);
    if (isShown) Object.assign(place, { before: ids.slice(0, ids.indexOf(draft.id)), asideId: null });
    else if (isMoving()) place.asideId = draft.id;
    else if (place.asideId !== draft.id) keepText();
  }, [messages, draft?.id, pending]);
}

/** Return whether a message is gone, and not only outside of the part that is shown. `before`: the ids up to it. */
const isRemoved = ({ earlier, later }, messages, before) =>
  !later && (!earlier || messages.some(({ id }) => before.includes(id)));

/** @param {{editing: Editing & {draft: Draft}, isLast: boolean}} props */
export function Editor({ editing, isLast }) {
  const { draft, pending, close, cancel, ask } = editing;
  const canSend = draft.text.trim() !== "" && pending === null;
  const send = (kind) => canSend && ask(kind, draft);
  const onKeyDown = (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send("edit");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const disabled = { "aria-disabled": !canSend || undefined };
  return h(
    "form",
    { className: "editor", "aria-label": _("Edit message"), onKeyDown, onSubmit: (event) => event.preventDefault() },
    h(EditorField, { editing }),
    draft.problem &&
      h("div", { className: "editor-problem", role: "alert" },
        h("p", null, draft.problem),
        pending && button("quiet-button", _("Try again"), () => ask(pending.type, draft)),
      ),
    !isLast &&
      h("p", { className: "editor-hint" }, _("Send asks again from here. What follows is removed and can be brought back.")),
    h("p", { className: "editor-hint editor-keys" },
      _("{keys} sends, Enter breaks the line", { keys: nameKeys("Control+Enter").join(" + ") })),
    h("div", { className: "editor-buttons" },
      button("btn btn-secondary", _("Cancel"), cancel),
      !isLast && button("btn btn-secondary", _("Only change the text"), () => send("change"), disabled),
      button("btn btn-primary", _("Send"), () => send("edit"), disabled),
    ),
  );
}

function EditorField({ editing: { draft, pending, type } }) {
  const field = useRef(null);
  useLayoutEffect(() => {
    if (!draft.isPressed && !isFocusUnclaimed()) return; // the person is at work elsewhere
    field.current.focus({ preventScroll: true });
    field.current.setSelectionRange(draft.text.length, draft.text.length);
    field.current.form.scrollIntoView({ block: "nearest" });
  }, []); // when it opens
  return h("textarea", {
    ref: field, className: "editor-field", dir: "auto", "aria-label": _("Text of the message"), rows: 1,
    value: draft.text, readOnly: pending !== null, onChange: (event) => type(event.target.value),
  });
}
