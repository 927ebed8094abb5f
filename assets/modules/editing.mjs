/** A user's message as a field: another text can stand in its place, and the agent can be asked again. */
import { fitHeight } from "./field.mjs";

const { createElement: h, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } = window.React;

const NO_REPLY_MS = 6000;
const NO_REPLY_TEXT = "Not sent yet: the server does not answer. Your text is kept.";
const TALLEST_PX = 320;

/**
 * @typedef {{id: string, text: string, wish: {type: "edit"|"change", op: string}|null, problem: string|null}} Draft
 *   of the message with that id; `wish` is what the server was asked for and has not answered
 * @typedef {{draft: Draft|null, open: Function, type: Function, cancel: Function, ask: Function}} Editing
 * @param {{op: string, ok: boolean, text: string|null}|undefined} reply
 * @param {Function} act reports an action; a repeated wish carries the same operation id, so it cannot act twice
 * @returns {Editing} stays as the conversation is rendered anew or left for another: what was typed is kept
 */
export function useEditing(reply, act) {
  const [draft, setDraft] = useState(null);
  const unsent = useRef(new Map()); // texts of the messages that were left for another one, by message id
  const answer = draft?.wish && reply?.op === draft.wish.op ? reply : null;

  useLayoutEffect(() => {
    if (!answer) return;
    setDraft((now) => (answer.ok ? null : { ...now, wish: null, problem: answer.text }));
  }, [answer]);
  useEffect(() => {
    if (!draft?.wish) return undefined;
    const timer = setTimeout(() => setDraft((now) => now && { ...now, problem: NO_REPLY_TEXT }), NO_REPLY_MS);
    return () => clearTimeout(timer);
  }, [draft?.wish]);

  const open = useCallback((message) => setDraft((now) => {
    if (now?.wish) return now;
    if (now) unsent.current.set(now.id, now.text);
    return { id: message.id, text: unsent.current.get(message.id) ?? message.text, wish: null, problem: null };
  }), []);
  const type = useCallback((text) => setDraft((now) => ({ ...now, text })), []);
  const cancel = useCallback(() => setDraft((now) => {
    unsent.current.delete(now?.id);
    return null;
  }), []);
  const ask = useCallback((kind, { id, text, wish }) => {
    unsent.current.delete(id);
    const op = act(kind, { message: id, text }, wish?.op);
    setDraft((now) => ({ ...now, problem: null, wish: { type: kind, op } }));
  }, [act]);
  return useMemo(() => ({ draft, open, type, cancel, ask }), [draft, open, type, cancel, ask]);
}

/** @param {{editing: Editing, isLast: boolean}} props */
export function Editor({ editing, isLast }) {
  const { draft, type, cancel, ask } = editing;
  const field = useRef(null);
  const canSend = draft.text.trim() !== "" && draft.wish === null;
  const send = (kind) => canSend && ask(kind, draft);

  useLayoutEffect(() => fitHeight(field.current, TALLEST_PX), [draft.text]);
  useLayoutEffect(() => {
    field.current.focus({ preventScroll: true });
    field.current.setSelectionRange(draft.text.length, draft.text.length);
    field.current.form.scrollIntoView({ block: "nearest" });
  }, []); // when it opens

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
    { className: "editor", "aria-label": "Edit message", onKeyDown, onSubmit: (event) => event.preventDefault() },
    h("textarea", {
      ref: field,
      className: "editor-field",
      "aria-label": "Text of the message",
      rows: 1,
      value: draft.text,
      readOnly: draft.wish !== null,
      onChange: (event) => type(event.target.value),
    }),
    draft.problem &&
      h(
        "div",
        { className: "editor-problem", role: "alert" },
        h("p", null, draft.problem),
        draft.wish && h("button", { type: "button", className: "quiet-button", onClick: () => ask(draft.wish.type, draft) }, "Try again"),
      ),
    !isLast && h("p", { className: "editor-hint" }, "Send asks again from here. What follows is set aside and can be brought back."),
    h(
      "div",
      { className: "editor-buttons" },
      button("Cancel", "btn-secondary", cancel),
      !isLast && button("Only change the text", "btn-secondary", () => send("change"), !canSend),
      button("Send", "btn-primary", () => send("edit"), !canSend),
    ),
  );
}
