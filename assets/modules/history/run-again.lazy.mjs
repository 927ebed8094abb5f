/** Ask the questions of a place once more, on a new branch: the model, the instructions and the first question. */
import { createRequestId } from "../lib/actions.mjs";
import { ReadingDialog } from "../lib/dialog.mjs";
import { useFetch } from "../lib/fetch.lazy.mjs";
import { nameModelAmong } from "../lib/model-names.mjs";
import { send } from "../lib/send.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { encodeThread } from "../lib/thread-ids.mjs";
import { _, ngettext } from "../lib/words.mjs";
import { closeSheets } from "../page/panes.mjs";

const { createElement: h, useId, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

const GONE_TEXT = _("This place no longer exists.");
const NO_ANSWER_TEXT = _("The server does not answer. Your choice is kept here; please try again.");
const TOOLS_TEXT = _("Tools run again as well: whatever they send or write happens a second time.");

loadStyle(new URL("./run-again.lazy.css", import.meta.url));

/**
 * @typedef {{questions: {id: string, text: string}[], models: string[], model: string, default: string,
 *   instructions: string, max: {questions: number, instructions: number}}} RerunChoice  the questions of a place, and the
 *   conversation's settings
 * @param {{thread: string, place: string, onClose: () => void}} props
 */
export function RunAgain({ thread, place, onClose }) {
  const { content, status } = useFetch(
    `/api/threads/${encodeThread(thread)}/rerun?${new URLSearchParams({ place })}`,
    GONE_TEXT,
  );
  const [changes, setChanges] = useState(/** @type {{first?: string, model?: string, instructions?: string}} */ ({}));
  const begin = useBeginning(thread, onClose);
  const isEmpty = !content?.questions.length;
  const chosen = content && {
    first: content.questions[0]?.id,
    model: content.model,
    instructions: content.instructions,
    ...changes,
  };
  const start = () => !isEmpty && begin.start({ place, ...chosen });
  const button = h(
    "button",
    { type: "button", className: "btn btn-primary", "aria-disabled": isEmpty || begin.isSending, onClick: start },
    begin.isSending ? _("Starting…") : _("Start"),
  );
  const change = (name) => (event) => setChanges({ ...changes, [name]: event.target.value });
  return h(
    ReadingDialog,
    { title: _("Run again"), className: "run-again", buttons: button, onClose },
    h("p", { role: "status" }, status ?? describe(content, chosen)),
    !isEmpty && h(Fields, { content, chosen, change }),
    !isEmpty && h("p", { className: "quiet" }, TOOLS_TEXT),
    begin.problem && h("p", { className: "settings-problem", role: "alert" }, begin.problem),
  );
}

/** "3 questions are asked once more, one after the other, on a new branch." */
function describe({ questions, max }, { first }) {
  if (questions.length === 0) return _("There are no questions to ask again.");
  const count = questions.length - questions.findIndex(({ id }) => id === first);
  const asked = Math.min(count, max.questions);
  const limit = asked < count ? _(" At most {questions} are asked at once.", { questions: max.questions }) : "";
  return (
    ngettext(
      "{count} question is asked once more on a new branch.",
      "{count} questions are asked once more on a new branch, one after the other.",
      asked,
    ) + limit
  );
}

/**
 * @param {{content: RerunChoice, chosen: {first: string, model: string, instructions: string},
 *   change: (name: string) => (event: any) => void}} props
 */
function Fields({ content, chosen, change }) {
  const id = useId();
  const option = (value, text) => h("option", { key: value, value }, text);
  const others = [...new Set([...content.models, content.model])].filter((spec) => spec !== "" && spec !== content.default);
  const name = (spec) => nameModelAmong(spec, [content.default, ...others]);
  const label = (name, text) => h("label", { className: "form-label", htmlFor: `${id}-${name}` }, text);
  const field = (name, more) => ({ id: `${id}-${name}`, value: chosen[name], onChange: change(name), ...more });
  return [
    label("model", _("Model")),
    h(
      "select",
      { key: "model", ...field("model", { className: "form-select", autoFocus: true }) },
      option("", _("{value} (default)", { value: name(content.default) })),
      others.map((spec) => option(spec, name(spec))),
    ),
    label("instructions", _("Instructions")),
    h("textarea", {
      key: "instructions",
      ...field("instructions", { className: "form-control", dir: "auto", rows: 4, maxLength: content.max.instructions }),
    }),
    label("first", _("From question")),
    h(
      "select",
      { key: "first", ...field("first", { className: "form-select" }) },
      content.questions.map((each, index) => option(each.id, `${index + 1}. ${each.text}`)),
    ),
  ].map((each, index) => h("div", { key: index, className: "run-again-part" }, each));
}

/** Begin. The same choice again has the same request id, so that it begins once. */
function useBeginning(thread, onClose) {
  const [state, setState] = useState({ isSending: false, problem: null });
  const last = useRef({ content: "", request_id: "" });
  const start = async (choice) => {
    if (state.isSending) return;
    const content = JSON.stringify(choice);
    if (last.current.content !== content) last.current = { content, request_id: createRequestId() };
    setState({ isSending: true, problem: null });
    const { problem } = await send(`/api/threads/${encodeThread(thread)}/rerun`, {
      body: { ...choice, request_id: last.current.request_id },
      failureText: NO_ANSWER_TEXT,
    });
    setState({ isSending: false, problem });
    if (problem !== null) return;
    flushSync(onClose); // gives the focus back
    closeSheets(); // the conversation shows how far it is
  };
  return { ...state, start };
}
