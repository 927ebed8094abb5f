/** The questions of a user graph that waits: decisions about calls, a form, or an answer as text or JSON. */
import { Prose } from "../message/prose.mjs";
import { isFocusUnclaimed, restFocus } from "../page/lost-focus.mjs";
import { useSinglePress } from "../requests/tracked-request.mjs";
import { _ } from "../words/words.mjs";
import { readAnswer, storeAnswer } from "./kept-answers.mjs";
import { ActionsPart } from "./question-actions.mjs";
import { FormPart, TextPart } from "./question-fields.mjs";

const { createElement: h, useEffect, useId, useLayoutEffect, useRef, useState } = window.React;

/**
 * @typedef {import("../state/types.mjs").QuestionView} QuestionView
 * @typedef {import("./kept-answers.mjs").Answers} Answers
 * @param {{thread: string, questions: QuestionView[], drafts?: import("../state/types.mjs").DraftView[], answers: Answers}}
 *   props
 */
export function Questions({ thread, questions, drafts = [], answers }) {
  const section = useRef(null);
  useLayoutEffect(() => focusNext(section.current), [questions.map(({ key }) => key).join(" ")]);
  // Those whose subgraph asks nothing, because others ask, stand first.
  const others = drafts.filter((draft) => !questions.some(({ id }) => draft.questions.includes(id)));
  const listOwn = (id) => drafts.filter((draft) => draft.questions.includes(id));
  const listDrafts = (id, place) => [...(place === 0 ? others : []), ...listOwn(id)];
  return h(
    "section",
    { className: "questions", "aria-label": _("The graph waits for you"), ref: section },
    questions.map((question, place) =>
      h(Question, { key: question.key, thread, question, drafts: listDrafts(question.id, place), answers }),
    ),
  );
}

/** Focus the next question after an answer: not on touch screens, where that would open the keyboard over the page. */
function focusNext(section) {
  const isLeft = isFocusUnclaimed() && document.activeElement === section.closest(".log");
  if (isLeft && matchMedia("(pointer: fine)").matches) section.querySelector("textarea, input, select, button").focus();
}

/** Leave the focus to the conversation when a question goes: a run begins, and the next question comes at its end. */
function useFocusAfter(root) {
  useLayoutEffect(() => {
    const element = root.current;
    return () => void (element.contains(document.activeElement) && restFocus(element.closest(".log")));
  }, [root]);
}

/**
 * The text of a subgraph that the graph does not have yet.
 * @param {{draft: import("../state/types.mjs").DraftView}} props
 */
const Draft = ({ draft: { agent, html } }) =>
  h(
    "div",
    { className: "question-draft", "data-testid": "draft" },
    h("p", { className: "question-title" }, _("Draft of {agent}", { agent })),
    h(Prose, { html }),
  );

const PARTS = {
  middleware: ActionsPart,
  inbox: ActionsPart,
  form: FormPart,
  text: TextPart,
  json: TextPart,
  continue: ContinuePart,
};

function Question({ thread, question, drafts, answers }) {
  const label = useId();
  const root = useRef(null);
  const [texts, setTexts] = useState(() => readAnswer(thread, question, answers.failed));
  const { isPending, press, release } = useSinglePress();
  const problem = answers.problems[question.key];
  useEffect(() => void (problem && release()), [problem]);
  useFocusAfter(root);
  const answer = (text) => press(() => answers.send(question, text));
  const onText = (typed) => {
    storeAnswer(thread, question.key, { ...texts, ...typed });
    setTexts({ ...texts, ...typed });
  };
  return h(
    "div",
    {
      className: "question", role: "group", "aria-labelledby": label, "data-testid": "question",
      "data-style": question.style, ref: root,
    },
    drafts.map((draft, place) => h(Draft, { key: place, draft })),
    h(
      "p",
      { id: label, className: "question-title" },
      question.actions.length > 0 ? _("The graph asks for your decision.") : _("The graph asks:"),
    ),
    question.text !== "" &&
      h(question.is_code ? "pre" : "p", { className: "question-text", tabIndex: 0 }, question.text),
    question.answer_schema !== "" && h(AnswerSchema, { schema: question.answer_schema }),
    h(PARTS[question.style], { question, texts, onText, isPending, answer }),
    problem && h("p", { className: "question-problem", role: "alert" }, problem),
  );
}

const AnswerSchema = ({ schema }) => [
  h("p", { key: "title", className: "question-title" }, _("The answer's JSON schema:")),
  h("pre", { key: "schema", className: "question-text", tabIndex: 0 }, schema),
];

function ContinuePart({ isPending, answer }) {
  return h(
    "div",
    { className: "question-buttons" },
    h(
      "button",
      { type: "button", className: "btn btn-primary", "aria-disabled": isPending || undefined, onClick: () => answer("") },
      _("Go on"),
    ),
  );
}
