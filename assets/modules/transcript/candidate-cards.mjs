/** The answers of several models to the last question, side by side; in a narrow page one at a time, to be swiped. */
import { button } from "../controls/buttons.mjs";
import { icon, withIcon } from "../controls/icons.mjs";
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
export function Candidates({ view: { run, answers }, texts, ...others }) {
  const specs = answers.map(({ model }) => model);
  const column = (answer) =>
    h(Candidate, {
      key: answer.number, answer, name: nameModelAmong(answer.model, specs), total: answers.length, run,
      live: texts.find(answer.number), ...others,
    });
  return h(
    "div",
    {
      className: "candidates", role: "group", tabIndex: 0, "data-count": answers.length,
      "aria-label": ngettext("{count} answer", "{count} answers side by side", answers.length),
    },
    answers.map(column),
  );
}

/**
 * @typedef {{answer: AnswerView, name: string, total: number, run: string, live: object, isRunning: boolean, act: Function,
 *   announce: Function}} CandidateProps  `name` is the model's for people
 * @param {CandidateProps} props
 */
function Candidate(props) {
  const { answer, name, total, live, isRunning } = props;
  const { number, state, messages, error, details, current } = answer;
  const isWriting = isRunning && state === "running";
  const isChosen = current && !isRunning;
  return h(
    "article",
    {
      className: `candidate${isChosen ? " candidate-current" : ""}`, "data-testid": "candidate", "data-number": number,
      "data-state": state, "aria-busy": isWriting,
      "aria-label": _("{model}, answer {number} of {total}", { model: name, number, total }),
    },
    h(Head, { ...props, isWriting }),
    h("div", { className: "candidate-body message-assistant live" },
      messages.map((message) => h(CandidateMessage, { key: message.id, message })),
      isWriting && h(LiveProse, { answer: live }),
      error &&
        h("div", { className: "candidate-error", role: "alert" },
          icon("exclamation-triangle"),
          h("p", null, error, details && h("small", null, details)),
        ),
      !error && STATES[state] && h("p", { className: "quiet candidate-end" }, STATES[state]),
    ),
    h(Foot, { ...props, isChosen }),
  );
}

/** @param {CandidateProps & {isWriting: boolean}} props */
function Head({ answer: { number, model }, name, total, run, isWriting, act }) {
  const onClick = () => act("stop-candidate", { run, number });
  const label = _("Stop {model}, answer {number}", { model: name, number });
  return h(
    "header",
    { className: "candidate-head" },
    h("h2", { title: model }, name),
    h("span", { className: "quiet", "aria-hidden": true }, `${number}/${total}`),
    isWriting &&
      button("quiet-button", withIcon("stop-circle", _("Stop this")), onClick, { "aria-label": label }),
  );
}

const CandidateMessage = ({ message }) =>
  h(
    "div",
    { className: "candidate-message", "data-message-id": message.id, "data-state": message.state },
    message.reasoning && h(Reasoning, { reasoning: message.reasoning }),
    message.html !== "" && h(FoldableProse, { message }),
    h(Tools, { message, act: null }),
  );

/** @param {CandidateProps & {isChosen: boolean}} props */
function Foot({ answer, name, run, isRunning, isChosen, act, announce }) {
  const { head, messages, usage, state } = answer;
  const retry = UNFINISHED.has(state) && h(TryAgain, { answer, name, run, act });
  if (isRunning || (head === null && usage === null)) return retry && h("footer", { className: "candidate-foot" }, retry);
  const last = messages.findLast(({ text }) => text !== "");
  const goOnText = isChosen ? _("Continuing from this answer") : _("Continue from this answer");
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
      button("quiet-button candidate-choice", withIcon(isChosen ? "check-lg" : "arrow-down", goOnText), goOn,
        { "aria-pressed": isChosen }),
  );
}

/** Ask one model once more. The answer's beginning takes the button away. */
function TryAgain({ answer: { number }, name, run, act }) {
  const { isPending, press } = useSinglePress();
  const label = _("Try again: {model}, answer {number}", { model: name, number });
  const onClick = () => press(() => act("retry-candidate", { run, number }));
  return button("quiet-button", withIcon("arrow-repeat", _("Try again")), onClick,
    { "aria-disabled": isPending, "aria-label": label });
}
