/** Edit a user's message: replace its text only, or ask the agent again from there. */
import { isFocusUnclaimed } from "../page/lost-focus.mjs";
import { useRequest } from "../requests/tracked-request.mjs";
import { _ } from "../words/words.mjs";
import { forgetEdit, readEdit, readOpenEdit, storeEdit, storeOpenEdit } from "./kept-edits.mjs";

const { createElement: h, useLayoutEffect, useMemo, useRef, useState } = window.React;

const NO_REPLY_TEXT = _("Not sent yet: the server does not answer. Your text is kept.");
const CHANGED_TEXT = _("This message was changed meanwhile. Your text is kept, and Send replaces the new version.");

/**
 * @typedef {{id: string, thread: string|null, text: string, problem: string|null, isPressed: boolean}} Draft  of the message
 *   with that id; `isPressed`: the person has opened the form, which takes the focus
 * @typedef {{request_id: string, type: "edit"|"change", message: string}} EditRequest
 * @typedef {{draft: Draft|null, pending: EditRequest|null, place: {current: import("./kept-edits.mjs").LastPlace}, open:
 *   Function, type: Function, close: Function, cancel: Function, follow: Function, ask: Function}} Editing
 * @param {import("../state/types.mjs").Reply|undefined} reply
 * @param {import("../state/types.mjs").Act} act
 * @param {string|null} thread that is shown
 * @returns {Editing} kept across renderings, other conversations and a reload, so that no typed text is lost
 */
export function useEditing(reply, act, thread) {
  const [draft, setDraft] = useState(readOpenEdit);
  const setProblem = (problem) => setDraft((now) => now && { ...now, problem });
  const finish = (id) => (forgetEdit(id), setDraft(null));
  /** @param {EditRequest} request @param {import("../state/types.mjs").Reply} answer */
  const onReply = ({ message }, { ok, text }) => (ok ? finish(message) : setProblem(text));
  const { pending, start, end } = useRequest({ reply, onReply, onLate: () => setProblem(NO_REPLY_TEXT) });
  const place = useRef({ before: [], asideId: null });
  const latest = useRef({});
  latest.current = { draft, pending, thread, act };
  const actions = useMemo(() => buildEditActions(latest, setDraft, start, end), [start, end]);
  return useMemo(() => ({ draft, pending, place, ...actions }), [draft, pending, actions]);
}

function buildEditActions(latest, setDraft, start, end) {
  const show = (draft) => (storeOpenEdit(draft), setDraft(draft));
  const close = () => (end(), show(null));
  return {
    close,
    open: ({ id, text }) => {
      const { pending, thread } = latest.current;
      if (!pending) show({ id, thread, text: readEdit(id) ?? text, problem: null, isPressed: true });
    },
    type: (text) => {
      const draft = { ...latest.current.draft, text };
      storeEdit(draft);
      setDraft(draft);
    },
    cancel: () => {
      forgetEdit(latest.current.draft.id);
      close();
    },
    /** Go on with the text at another version of its message. */
    follow: ({ id }) => {
      const { draft: before } = latest.current;
      forgetEdit(before.id);
      const draft = { ...before, id, problem: CHANGED_TEXT, isPressed: false };
      storeEdit(draft);
      setDraft(draft);
    },
    ask: (kind, { id, text }) => {
      const { act, pending } = latest.current;
      start({ type: kind, message: id, request_id: act(kind, { message: id, text }, pending?.request_id) });
      setDraft((now) => now && { ...now, problem: null });
    },
  };
}

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
  const button = (label, style, onClick, disabled) =>
    h("button", { type: "button", className: `btn ${style}`, "aria-disabled": disabled || undefined, onClick }, label);
  return h(
    "form",
    { className: "editor", "aria-label": _("Edit message"), onKeyDown, onSubmit: (event) => event.preventDefault() },
    h(EditorField, { editing }),
    draft.problem && h(EditorProblem, { problem: draft.problem, onRetry: pending && (() => ask(pending.type, draft)) }),
    !isLast &&
      h(
        "p",
        { className: "editor-hint" },
        _("Send asks again from here. What follows is removed and can be brought back."),
      ),
    h(
      "div",
      { className: "editor-buttons" },
      button(_("Cancel"), "btn-secondary", cancel),
      !isLast && button(_("Only change the text"), "btn-secondary", () => send("change"), !canSend),
      button(_("Send"), "btn-primary", () => send("edit"), !canSend),
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
    ref: field,
    className: "editor-field",
    dir: "auto",
    "aria-label": _("Text of the message"),
    rows: 1,
    value: draft.text,
    readOnly: pending !== null,
    onChange: (event) => type(event.target.value),
  });
}

function EditorProblem({ problem, onRetry }) {
  return h(
    "div",
    { className: "editor-problem", role: "alert" },
    h("p", null, problem),
    onRetry && h("button", { type: "button", className: "quiet-button", onClick: onRetry }, _("Try again")),
  );
}
