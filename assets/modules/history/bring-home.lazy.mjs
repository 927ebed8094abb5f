/** Bring the conclusion of another place, or messages of it, into the current branch as a note. */
import { createRequestId } from "../lib/actions.mjs";
import { ReadingDialog } from "../lib/dialog.mjs";
import { useFetch } from "../lib/fetch.lazy.mjs";
import { formatDollars, formatUsage } from "../lib/format.mjs";
import { nameModel } from "../lib/model-names.mjs";
import { refreshPanels } from "../lib/panels.mjs";
import { findSeenVersion } from "../lib/seen-version.mjs";
import { send } from "../lib/send.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { encodeThread } from "../lib/thread-ids.mjs";
import { _ } from "../lib/words.mjs";
import { closeSheets } from "../page/panes.mjs";

const { createElement: h, useEffect, useId, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

const GONE_TEXT = _("This place no longer exists.");
const NO_ANSWER_TEXT = _("The server does not answer. Your text is kept here; please try again.");
const MAX_CONCLUSION_CHARS = 20_000;
const SPEAKER_NAMES = { user: _("You"), assistant: _("Agent") };

loadStyle(new URL("./bring-home.lazy.css", import.meta.url));

/**
 * @typedef {{id: string, role: "user"|"assistant", person: string, text: string}} QuotableMessage
 * @param {{data: import("../lib/types.mjs").BegunHistory, place: string, onClose: () => void}} props
 */
export function BringHome({ data, place, onClose }) {
  const { thread } = data;
  const { content, status } = useFetch(
    `/api/threads/${encodeThread(thread)}/excerpts?${new URLSearchParams({ place })}`,
    GONE_TEXT,
  );
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([]));
  const draft = useDraft(thread, place, setText);
  const note = useNote(data, place, onClose);
  const problem = note.problem ?? draft.problem;
  const isEmpty = text.trim() === "" && chosen.length === 0;
  const add = h(
    "button",
    {
      type: "button", className: "btn btn-primary", "aria-disabled": isEmpty || note.isSending,
      onClick: () => !isEmpty && note.add(text, chosen),
    },
    note.isSending ? _("Adding…") : _("Add note"),
  );
  return h(
    ReadingDialog,
    { title: _("Quote in this branch"), className: "bring-home", buttons: add, onClose },
    h(
      "p",
      { role: "status" },
      status ?? _("A note from {name} is added to the current branch. The model reads it as data.", { name: content.name }),
    ),
    h(Conclusion, { text, setText, draft }),
    content && h(MessageChoice, { messages: content.messages, chosen, setChosen }),
    problem && h("p", { className: "settings-problem", role: "alert" }, problem),
  );
}

function Conclusion({ text, setText, draft }) {
  const id = useId();
  return h(
    "div",
    { className: "bring-conclusion" },
    h("label", { className: "form-label", htmlFor: id }, _("Conclusion")),
    h("textarea", {
      id,
      className: "form-control",
      dir: "auto",
      rows: 6,
      maxLength: MAX_CONCLUSION_CHARS,
      value: text,
      placeholder: _("In your own words"),
      onChange: (event) => setText(event.target.value),
    }),
    h(
      "p",
      { className: "bring-draft" },
      h(
        "button",
        { type: "button", className: "quiet-button", "aria-disabled": draft.isPending, onClick: () => draft.start(text) },
        draft.isPending ? _("The model is writing…") : _("Draft with the model"),
      ),
      h("span", { className: "quiet", role: "status" }, draft.about),
    ),
  );
}

/** @param {{messages: QuotableMessage[], chosen: string[], setChosen: (ids: string[]) => void}} props */
function MessageChoice({ messages, chosen, setChosen }) {
  const toggle = (id) => setChosen(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id]);
  if (messages.length === 0) return h("p", { className: "quiet" }, _("There are no messages to quote."));
  return h(
    "fieldset",
    { className: "bring-messages" },
    h("legend", null, _("Messages to quote")),
    messages.map(({ id, role, person, text }) =>
      h(
        "label",
        { key: id },
        h("input", {
          type: "checkbox",
          className: "form-check-input",
          checked: chosen.includes(id),
          onChange: () => toggle(id),
        }),
        h("span", null, h("strong", null, `${person || SPEAKER_NAMES[role]}: `), h("bdi", null, text)),
      ),
    ),
  );
}

/** Ask the model for a draft. What a person has written stays: the draft follows it. */
function useDraft(thread, place, setText) {
  const [state, setState] = useState({ isPending: false, problem: null, about: "" });
  const controller = useRef(null);
  useEffect(() => () => controller.current?.abort(), []);
  const start = async () => {
    if (state.isPending) return;
    const { signal } = (controller.current = new AbortController());
    setState({ isPending: true, problem: null, about: "" });
    const { reply, problem } = await send(`/api/threads/${encodeThread(thread)}/conclusion`, {
      body: { place },
      signal,
      failureText: NO_ANSWER_TEXT,
    });
    if (signal.aborted) return;
    if (reply)
      setText((written) => [written.trimEnd(), reply.text].filter(Boolean).join("\n\n").slice(0, MAX_CONCLUSION_CHARS));
    setState({ isPending: false, problem, about: reply ? describeDraft(reply) : "" });
  };
  return { ...state, start };
}

/** "gpt-5 · 1.2k tokens in, 80 tokens out · $0.0012" */
function describeDraft({ model, usage }) {
  const tokens = usage.input + usage.output > 0 && formatUsage(usage);
  return [nameModel(model), tokens, usage.cost !== null && formatDollars(usage.cost)].filter(Boolean).join(" · ");
}

/** Add the note. The same note again has the same request id, so that it is added once. */
function useNote({ thread, version }, place, onClose) {
  const [state, setState] = useState({ isSending: false, problem: null });
  const last = useRef({ content: "", request_id: "" });
  const add = async (text, messages) => {
    if (state.isSending) return;
    const content = JSON.stringify([text, messages]);
    if (last.current.content !== content) last.current = { content, request_id: createRequestId() };
    setState({ isSending: true, problem: null });
    const body = { place, text, messages, request_id: last.current.request_id, version: findSeenVersion(thread, version) };
    const { reply, problem } = await send(`/api/threads/${encodeThread(thread)}/excerpts`, {
      body,
      failureText: NO_ANSWER_TEXT,
    });
    setState({ isSending: false, problem });
    if (!reply) return;
    refreshPanels(); // the broadcast may come late, or be lost
    flushSync(onClose); // gives the focus back
    closeSheets(); // a sheet would cover the note
  };
  return { ...state, add };
}
