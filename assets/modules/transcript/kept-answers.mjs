/**
 * What is typed as answers to a graph's questions and not sent, in the tab's session storage. A form keeps it while a run
 * takes the form away, over a reload and in another conversation. Where its question is closed, it goes on in the field.
 */
import { whenShown } from "../lib/chosen-thread.mjs";
import { showToast } from "../lib/toast.mjs";
import { takeReply } from "../lib/tracked-request.mjs";
import { joinTexts, putIntoField, readUnsent, storeUnsent } from "../lib/unsent-storage.mjs";
import { _ } from "../lib/words.mjs";

const { useLayoutEffect, useMemo, useRef, useState } = window.React;

const CLOSED_TEXT = _("A question was closed before you answered. Your text is in the field.");

/**
 * @typedef {import("../lib/unsent-storage.mjs").InputTexts} InputTexts
 * @typedef {import("../lib/unsent-storage.mjs").AnswerTexts} AnswerTexts
 * @typedef {{problems: Record<string, string|null>, send: (question: import("../lib/types.mjs").QuestionView, text: string)
 *   => void}} Answers  `problems`: why the server refused the last one, by the keys of the questions
 */

/** @type {Map<string, AnswerTexts>} by conversation: the storage may be full or blocked */
const typed = new Map();

function readAll(thread) {
  if (!typed.has(thread)) typed.set(thread, readUnsent("answers", thread) ?? {});
  return typed.get(thread);
}

/** @param {string} key of a question @returns {InputTexts} by the names of the fields in its form */
export const readAnswer = (thread, key) => readAll(thread)[key] ?? {};

/** @param {InputTexts} texts without any, nothing is kept */
export function storeAnswer(thread, key, texts) {
  const { [key]: _before, ...others } = readAll(thread);
  const kept = Object.values(texts).some(Boolean) ? { ...others, [key]: texts } : others;
  typed.set(thread, kept);
  storeUnsent("answers", thread, Object.keys(kept).length > 0 ? kept : null);
}

/**
 * Send answers, whose forms are gone before the replies come. An accepted one is forgotten.
 * @param {import("../lib/types.mjs").TranscriptData|undefined} data
 * @param {import("../lib/types.mjs").Reply|undefined} reply
 * @param {import("../lib/types.mjs").Act} act
 * @returns {Answers}
 */
export function useAnswers(data, reply, act) {
  const [problems, setProblems] = useState({});
  const sent = useRef(new Map()); // by request id
  const latest = useRef(data);
  latest.current = data;
  const setProblem = (key, text) => setProblems((now) => ({ ...now, [key]: text }));
  useLayoutEffect(() => {
    for (const [request_id, { thread, key }] of sent.current) {
      const answer = takeReply(request_id);
      if (!answer) continue;
      sent.current.delete(request_id);
      if (answer.ok) storeAnswer(thread, key, {});
      else setProblem(key, answer.text);
    }
    whenShown(() => returnClosed(latest.current, [...sent.current.values()]));
  }, [data, reply]);
  const send = ({ id, key }, text) => {
    setProblem(key, null);
    sent.current.set(act("answer", { call: id, key, text }), { thread: latest.current.thread, key });
  };
  return useMemo(() => ({ problems, send }), [problems]);
}

/** Put the texts of questions that are closed into the field, once the graph rests; one that is being sent may be taken. */
function returnClosed(data, sent) {
  if (!data?.thread || data.later || data.run?.state === "running") return;
  const open = new Set([...data.questions, ...sent].map(({ key }) => key));
  const closed = Object.entries(readAll(data.thread)).filter(([key]) => !open.has(key));
  for (const [key] of closed) storeAnswer(data.thread, key, {});
  const text = joinTexts(...closed.map(([, texts]) => writeTexts(texts)));
  if (text === "") return;
  putIntoField(text);
  showToast(CLOSED_TEXT);
}

/** Write what was typed in a form for a person: the fields of a schema with their names. @param {InputTexts} texts */
const writeTexts = (texts) =>
  joinTexts(
    ...Object.entries(texts)
      .filter(([, text]) => typeof text === "string" && text.trim() !== "")
      .map(([name, text]) => (isOfCall(name) || name === "" ? text : `${name}: ${text}`)),
  );

const isOfCall = (name) => /^\d+ (edit|respond)$/.test(name);
