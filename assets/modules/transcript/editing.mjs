/** Edit a user's message: replace its text only, or ask the agent again from there. */
import { fitHeight } from "../lib/text-field.mjs";
import { useRequest } from "../lib/tracked-request.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useCallback, useLayoutEffect, useMemo, useRef, useState } = window.React;

const NO_REPLY_TEXT = _("Not sent yet: the server does not answer. Your text is kept.");
const MAX_EDITOR_HEIGHT_PX = 320;

/**
 * @typedef {{id: string, text: string, problem: string|null}} Draft  of the message with that id
 * @typedef {{request_id: string, type: "edit"|"change", message: string}} EditRequest
 * @typedef {{draft: Draft|null, pending: EditRequest|null, open: Function, type: Function, cancel: Function, ask: Function}}
 *   Editing
 * @param {import("../lib/types.mjs").Reply|undefined} reply
 * @param {import("../lib/types.mjs").Act} act
 * @returns {Editing} kept across renderings and other conversations, so that no typed text is lost
 */
export function useEditing(reply, act) {
  const [draft, setDraft] = useState(null);
  const unsent = useRef(new Map()); // texts of interrupted edits, by message id
  const setProblem = (problem) => setDraft((now) => now && { ...now, problem });
  const onReply = (_, { ok, text }) => (ok ? setDraft(null) : setProblem(text));
  const { pending, start, end } = useRequest({ reply, onReply, onLate: () => setProblem(NO_REPLY_TEXT) });

  const latest = useRef(pending);
  latest.current = pending;
  const open = useCallback((message) => setDraft((now) => {
    if (latest.current) return now;
    if (now) unsent.current.set(now.id, now.text);
    return { id: message.id, text: unsent.current.get(message.id) ?? message.text, problem: null };
  }), []);
  const type = useCallback((text) => setDraft((now) => ({ ...now, text })), []);
  const cancel = useCallback(() => {
    end();
    setDraft((now) => {
      unsent.current.delete(now?.id);
      return null;
    });
  }, [end]);
  const ask = useCallback((kind, { id, text }) => {
    unsent.current.delete(id);
    start({ type: kind, message: id, request_id: act(kind, { message: id, text }, latest.current?.request_id) });
    setProblem(null);
  }, [act, start]);
  return useMemo(() => ({ draft, pending, open, type, cancel, ask }), [draft, pending, open, type, cancel, ask]);
}

/** @param {{editing: Editing, isLast: boolean}} props */
export function Editor({ editing, isLast }) {
  const { draft, pending, cancel, ask } = editing;
  const canSend = draft.text.trim() !== "" && pending === null;
  const send = (kind) => canSend && ask(kind, draft);
  const onKeyDown = (event) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return; // these keys belong to the input method
    if (event.key === "Escape") cancel();
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
        _("Send asks again from here. What follows is set aside and can be brought back."),
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
  useLayoutEffect(() => fitHeight(field.current, MAX_EDITOR_HEIGHT_PX), [draft.text]);
  useLayoutEffect(() => {
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
