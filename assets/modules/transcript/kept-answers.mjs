/**
 * What is typed as answers to a graph's questions, in the tab's session storage. A form keeps it while a run takes the form
 * away, over a reload and in another conversation. Where its question is closed before it is sent, it goes on in the field.
 * What the server has accepted is kept until the graph has used it: a run may fail, and its question be open again.
 */
import { joinTexts, putIntoField, readUnsent, storeUnsent } from "../browser/unsent-storage.mjs";
import { showToast } from "../controls/toast.mjs";
import { takeReply } from "../requests/tracked-request.mjs";
import { whenShown } from "../state/chosen-thread.mjs";
import { formatValue } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { useLayoutEffect, useMemo, useRef, useState } = window.React;

const CLOSED_TEXT = _("A question was closed before you answered. Your text is in the field.");

/**
 * @typedef {import("../browser/unsent-storage.mjs").InputTexts} InputTexts
 * @typedef {import("../browser/unsent-storage.mjs").AnswerTexts} AnswerTexts
 * @typedef {import("../browser/unsent-storage.mjs").AcceptedTexts} AcceptedTexts
 * @typedef {{problems: Record<string, string|null>, failed: string|null,
 *   send: (question: import("../state/types.mjs").QuestionView, text: string) => void}} Answers  `problems`: why the server
 *   refused the last one, by the keys of the questions; `failed`: the id of the run, if it failed
 */

/**
 * By conversation, since the storage may be full or blocked: what is typed, and what was accepted with the run that got it.
 * @type {{answers: Map<string, AnswerTexts>, answered: Map<string, AcceptedTexts>}}
 */
const memory = { answers: new Map(), answered: new Map() };

function readAll(kind, thread) {
  const known = memory[kind];
  if (!known.has(thread)) known.set(thread, readUnsent(kind, thread) ?? {});
  return known.get(thread);
}

/** @param {object|null} value null forgets it */
function keep(kind, thread, key, value) {
  const { [key]: _before, ...others } = readAll(kind, thread);
  const all = value ? { ...others, [key]: value } : others;
  memory[kind].set(thread, all);
  storeUnsent(kind, thread, Object.keys(all).length > 0 ? all : null);
}

/**
 * @param {import("../state/types.mjs").QuestionView} question
 * @param {string|null} failed id of the run that ended without having used its answer, as when the graph was changed
 * @returns {InputTexts} by the names of the fields in its form
 */
export function readAnswer(thread, question, failed) {
  const own = readAll("answers", thread)[question.key] ?? readAll("answered", thread)[question.key]?.texts;
  return own ?? Object.values(readAll("answered", thread)).find((each) => isAskedAgain(each, question, failed))?.texts ?? {};
}

/** What a question asks, whichever node of a changed graph asks it. */
const describe = ({ style, text, actions, fields }) => JSON.stringify([style, text, actions, fields]);

const isAskedAgain = ({ run, asked }, question, failed) => run === failed && asked === describe(question);

/** @param {InputTexts} texts without any, nothing is kept; an empty one may stand in the place of a default */
export function storeAnswer(thread, key, texts) {
  keep("answers", thread, key, Object.values(texts).some((text) => text !== undefined) ? texts : null);
  keep("answered", thread, key, null);
}

function acceptAnswer(thread, key, asked, run) {
  const texts = readAll("answers", thread)[key] ?? readAll("answered", thread)[key]?.texts ?? {};
  keep("answers", thread, key, null);
  keep("answered", thread, key, Object.keys(texts).length > 0 ? { run, asked, texts } : null);
}

/**
 * Send answers, whose forms are gone before the replies come.
 * @param {import("../state/types.mjs").TranscriptData|undefined} data
 * @param {import("../state/types.mjs").Reply|undefined} reply
 * @param {import("../state/types.mjs").Act} act
 * @returns {Answers}
 */
export function useAnswers(data, reply, act) {
  const [problems, setProblems] = useState({});
  const sent = useRef(new Map()); // by request id
  const latest = useRef(data);
  latest.current = data;
  const setProblem = (key, text) => setProblems((now) => ({ ...now, [key]: text }));
  useLayoutEffect(() => {
    for (const [request_id, { thread, key, asked }] of sent.current) {
      const answer = takeReply(request_id);
      if (!answer) continue;
      sent.current.delete(request_id);
      if (answer.ok) acceptAnswer(thread, key, asked, request_id);
      else setProblem(key, answer.text);
    }
    whenShown(() => settle(latest.current, [...sent.current.values()]));
  }, [data, reply]);
  const send = (question, text) => {
    const { id, key } = question;
    setProblem(key, null);
    // One before it, whose reply was lost, is not waited for any more.
    for (const [request_id, each] of sent.current) if (each.key === key) sent.current.delete(request_id);
    const asked = describe(question);
    sent.current.set(act("answer", { call: id, key, text }), { thread: latest.current.thread, key, asked });
  };
  const failed = findFailed(data);
  return useMemo(() => ({ problems, failed, send }), [problems, failed]);
}

const findFailed = (data) => (data?.run?.state === "failed" ? data.run.id : null);

/** Settle what is kept, once the graph rests. An answer that is being sent may be taken. */
function settle(data, sent) {
  if (!data?.thread || data.later || data.run?.state === "running") return;
  const open = new Set([...data.questions, ...sent].map(({ key }) => key));
  settleAccepted(data, open);
  returnClosed(data.thread, open);
}

/**
 * Forget the answers that are used. One whose run ended badly, with its question open, is as if it had not been sent. With
 * its question closed it is kept, also when that end is dismissed: an undo opens the question again. Where another node of a
 * changed graph asks the same, the answer is in that field.
 */
function settleAccepted({ thread, run, questions }, open) {
  for (const [key, accepted] of Object.entries(readAll("answered", thread))) {
    const isOpen = open.has(key);
    const isOwn = accepted.run === run?.id;
    const again = isOpen ? null : questions.find((each) => isAskedAgain(accepted, each, findFailed({ run })));
    if (again) keep("answered", thread, key, null);
    if (again || (isOpen && isOwn)) storeAnswer(thread, again?.key ?? key, accepted.texts);
    else if (!isOpen && isOwn) keep("answered", thread, key, { ...accepted, hasFailed: true });
    else if (!isOpen && !run && !accepted.hasFailed) keep("answered", thread, key, null);
  }
}

/** Put the texts of questions that are closed into the field. */
function returnClosed(thread, open) {
  const closed = Object.entries(readAll("answers", thread)).filter(([key]) => !open.has(key));
  for (const [key] of closed) keep("answers", thread, key, null);
  const text = joinTexts(...closed.map(([, texts]) => writeTexts(texts)));
  if (text === "") return;
  putIntoField(text);
  showToast(CLOSED_TEXT);
}

/** Write what was typed in a form for a person: the fields of a schema with their names. @param {InputTexts} texts */
const writeTexts = (texts) =>
  joinTexts(
    ...Object.entries(texts)
      .filter(([, text]) => String(text ?? "").trim() !== "")
      .map(([name, text]) => (isOfCall(name) || name === "" ? text : `${name}: ${formatValue(text)}`)),
  );

const isOfCall = (name) => /^\d+ (edit|respond)$/.test(name);
