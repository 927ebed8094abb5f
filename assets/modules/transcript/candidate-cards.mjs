/** The answers of several models to the last question, side by side; in a narrow page one at a time, to be swiped. */
import { icon } from "../controls/icons.mjs";
import { FoldableProse } from "../message/foldable-prose.mjs";
import { Tools } from "../message/tool-card.mjs";
import { useSinglePress } from "../requests/tracked-request.mjs";
import { nameModelAmong } from "../words/format.mjs";
import { _, ngettext } from "../words/words.mjs";
import { LiveProse } from "./live.mjs";
import { CopyButton, Usage } from "./message-foot.mjs";
import { Reasoning } from "./reasoning.mjs";

const { createElement: h } = window.React;

const UNFINISHED = new Set(["failed", "stopped", "interrupted"]);
const STATES = { stopped: _("Stopped"), interrupted: _("Cut off") };

/**
 * @typedef {import("../state/types.mjs").AnswerView} AnswerView
 * @param {{view: import("../state/types.mjs").CandidatesView, texts: import("./live-answers.mjs").LiveAnswers,
 *   isRunning: boolean, act: Function, announce: Function}} props
 */
export function Candidates({ view, texts, isRunning, act, announce }) {
  const { run, answers } = view;
  const specs = answers.map(({ model }) => model);
  const column = (answer) =>
    h(Candidate, {
      key: answer.number, answer, name: nameModelAmong(answer.model, specs), total: answers.length, run,
      live: texts.find(answer.number), isRunning, act, announce,
    });
  return h(
    "div",
    {
      className: "candidates", role: "group",
      "aria-label": ngettext("{count} answer", "{count} answers side by side", answers.length), tabIndex: 0,
      "data-count": answers.length,
    },
    answers.map(column),
  );
}

/**
 * @param {{answer: AnswerView, name: string, total: number, run: string, live: object, isRunning: boolean, act: Function,
 *   announce: Function}} props `name` is the model's for people
 */
function Candidate({ answer, name, total, run, live, isRunning, act, announce }) {
  const { number, state, messages, error, details, current } = answer;
  const isWriting = isRunning && state === "running";
  const isChosen = current && !isRunning;
  return h(
    "article",
    {
      className: `candidate${isChosen ? " candidate-current" : ""}`, "data-testid": "candidate", "data-number": number,
      "data-state": state,
      "aria-label": _("{model}, answer {number} of {total}", { model: name, number, total }),
      "aria-busy": isWriting,
    },
    h(Head, { answer, name, total, isWriting, onStop: () => act("stop-candidate", { run, number }) }),
    h(
      "div",
      { className: "candidate-body message-assistant live" },
      messages.map((message) => h(CandidateMessage, { key: message.id, message })),
      isWriting && h(LiveProse, { answer: live }),
      error &&
        h(
          "div",
          { className: "candidate-error", role: "alert" },
          icon("exclamation-triangle"),
          h("p", null, error, details && h("small", null, details)),
        ),
      !error && STATES[state] && h("p", { className: "quiet candidate-end" }, STATES[state]),
    ),
    h(Foot, { answer, name, run, isRunning, isChosen, act, announce }),
  );
}

function Head({ answer: { number, model }, name, total, isWriting, onStop }) {
  return h(
    "header",
    { className: "candidate-head" },
    h("h2", { title: model }, name),
    h("span", { className: "quiet", "aria-hidden": true }, `${number}/${total}`),
    isWriting &&
      h(
        "button",
        {
          type: "button", className: "quiet-button",
          "aria-label": _("Stop {model}, answer {number}", { model: name, number }),
          onClick: onStop,
        },
        icon("stop-circle"),
        _("Stop this"),
      ),
  );
}

function CandidateMessage({ message }) {
  return h(
    "div",
    { className: "candidate-message", "data-message-id": message.id, "data-state": message.state },
    message.reasoning && h(Reasoning, { reasoning: message.reasoning }),
    message.html !== "" && h(FoldableProse, { message }),
    h(Tools, { message, act: null }),
  );
}

/**
 * @param {{answer: AnswerView, name: string, run: string, isRunning: boolean, isChosen: boolean, act: Function,
 *   announce: Function}} props
 */
function Foot({ answer, name, run, isRunning, isChosen, act, announce }) {
  const { head, messages, usage, state } = answer;
  const canRetry = UNFINISHED.has(state);
  const retry = canRetry && h(TryAgain, { answer, name, run, act });
  if (isRunning || (head === null && usage === null)) return retry && h("footer", { className: "candidate-foot" }, retry);
  const last = messages.findLast(({ text }) => text !== "");
  const goOn = () => {
    if (isChosen) return;
    act("choose", { message: head });
    announce(_("Going on from the answer of {model}", { model: name }));
  };
  return h(
    "footer",
    { className: "candidate-foot" },
    usage && h(Usage, { usage }),
    last && h(CopyButton, { message: last, announce, name: _("Copy answer") }),
    retry,
    head !== null &&
      h(
        "button",
        { type: "button", className: "quiet-button candidate-choice", "aria-pressed": isChosen, onClick: goOn },
        icon(isChosen ? "check-lg" : "arrow-down"),
        isChosen ? _("Continuing from this answer") : _("Continue from this answer"),
      ),
  );
}

/** Ask one model once more. The answer's beginning takes the button away. */
function TryAgain({ answer: { number }, name, run, act }) {
  const { isPending, press } = useSinglePress();
  return h(
    "button",
    {
      type: "button", className: "quiet-button", "aria-disabled": isPending,
      "aria-label": _("Try again: {model}, answer {number}", { model: name, number }),
      onClick: () => press(() => act("retry-candidate", { run, number })),
    },
    icon("arrow-repeat"),
    _("Try again"),
  );
}
