/** The questions of a user graph that waits: decisions about calls, a form, or an answer as text or JSON. */
import { button } from "../controls/buttons.mjs";
import { Problem } from "../message/decisions.mjs";
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

const ContinuePart = ({ isPending, answer }) =>
  h("div", { className: "answer-buttons" },
    button("btn btn-primary", _("Go on"), () => answer(""), { "aria-disabled": isPending || undefined }),
  );

const PARTS = {
  middleware: ActionsPart, inbox: ActionsPart, form: FormPart, text: TextPart, json: TextPart, continue: ContinuePart,
};

function Question({ thread, question, drafts, answers }) {
  const { key, style, text, is_code: isCode, answer_schema: schema, actions } = question;
  const label = useId();
  const root = useRef(null);
  const [texts, setTexts] = useState(() => readAnswer(thread, question, answers.failed));
  const { isPending, press, release } = useSinglePress();
  const problem = answers.problems[key];
  useEffect(() => void (problem && release()), [problem]);
  useFocusAfter(root);
  const onText = (typed) => {
    storeAnswer(thread, key, { ...texts, ...typed });
    setTexts({ ...texts, ...typed });
  };
  const shown = { className: "question-text", tabIndex: 0 };
  const title = (words, id = undefined) => h("p", { id, className: "question-title" }, words);
  return h(
    "div",
    {
      className: "question", role: "group", "aria-labelledby": label, ref: root,
      "data-testid": "question", "data-style": style,
    },
    drafts.map((draft, place) => h(Draft, { key: place, draft })),
    title(actions.length > 0 ? _("The graph asks for your decision.") : _("The graph asks:"), label),
    text !== "" && h(isCode ? "pre" : "p", shown, text),
    schema !== "" && title(_("The answer's JSON schema:")),
    schema !== "" && h("pre", shown, schema),
    h(PARTS[style], { question, texts, onText, isPending, answer: (sent) => press(() => answers.send(question, sent)) }),
    h(Problem, { problem }),
  );
}
