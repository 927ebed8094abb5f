/** The inputs of a user graph beside the message: typed into a form, and sent with the next message of its conversation. */
import { readUnsent, storeUnsent } from "../browser/unsent-storage.mjs";
import { findProblem, isGiven, isNumberOutside, writeObject, writeValue } from "../words/field-values.mjs";
import { _ } from "../words/words.mjs";
import { InputForm } from "./input-form.mjs";

const { createElement: h, useLayoutEffect, useSyncExternalStore } = window.React;

/** @typedef {import("../browser/unsent-storage.mjs").InputTexts} InputTexts */

/** @type {InputTexts} */
const NOTHING = {};

/** @type {Map<string|null, InputTexts>} by conversation */
const typed = new Map();
/** @type {Map<string|null, InputTexts>} those of the last message of each conversation */
const sent = new Map();
/** @type {Map<string|null, import("../state/types.mjs").FormField[]>} those that a message has: of the graph shown */
const fieldsByThread = new Map();
const listeners = new Set();

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

function getTexts(thread) {
  if (!typed.has(thread)) typed.set(thread, readUnsent("inputs", thread) ?? NOTHING);
  return typed.get(thread) ?? NOTHING;
}

const getFields = (thread) => fieldsByThread.get(thread) ?? [];

/** Keep what was typed for a conversation, across a reload as its draft is. */
function keepTexts(thread, texts) {
  typed.set(thread, texts);
  storeUnsent("inputs", thread, Object.values(texts).some(isGiven) ? texts : null);
  for (const listener of listeners) listener();
}

/** Write what was typed as JSON. An empty field is no input. @returns {Record<string, string>} by name */
function writeInputs(fields, texts) {
  const given = fields.filter(({ name }) => isGiven(texts[name]));
  return Object.fromEntries(given.map((field) => [field.name, writeValue(field, texts[field.name])]));
}

/** @returns {string|null} why the inputs cannot be sent; the fields say it as well */
export function findInputProblem(thread) {
  const isShownWrong = showProblems();
  const texts = getTexts(thread);
  const wrong = getFields(thread).find((field) => isWrong(field, texts[field.name]));
  if (wrong?.kind === "json") return _("The input {input} is not JSON.", { input: wrong.label });
  if (wrong) return _("The input {input} is outside its limits.", { input: wrong.label });
  return isShownWrong ? _("An input of the graph cannot be read.") : null;
}

const isWrong = (field, text) => isGiven(text) && (findProblem(field, text) !== null || isNumberOutside(field, text));

/**
 * Let the fields beside a message say what is wrong, as the browser does in a form that is sent by itself. A text that is no
 * number is only known to its input.
 */
function showProblems() {
  /** @type {HTMLDetailsElement|null} */
  const form = document.querySelector("details.graph-inputs");
  /** @type {Iterable<HTMLInputElement|HTMLTextAreaElement>} */
  const inputs = form?.querySelectorAll("input, textarea") ?? [];
  const wrong = [...inputs].filter((input) => !input.checkValidity());
  if (form === null || wrong.length === 0) return false;
  form.open = true;
  wrong[0].focus();
  return true;
}

/** @returns {{inputs?: string}} fields to send with a message, as JSON; the form is empty afterwards */
export function takeInputs(thread) {
  sent.delete(thread);
  if (findInputProblem(thread) !== null) return {};
  const inputs = writeInputs(getFields(thread), getTexts(thread));
  if (Object.keys(inputs).length === 0) return {};
  sent.set(thread, getTexts(thread));
  keepTexts(thread, NOTHING);
  return { inputs: writeObject(inputs) };
}

/** @returns {InputTexts|undefined} what went with the last message */
export const getSentInputs = (thread) => sent.get(thread);

/** Return the inputs of a message that had no reply before a reload. @param {InputTexts|undefined} texts */
export function recoverInputs(thread, texts) {
  if (texts) keepTexts(thread, texts);
}

/** Return the inputs of a message that was refused, or is late, to the form. */
export function returnInputs(thread) {
  if (sent.has(thread)) keepTexts(thread, sent.get(thread));
}

/** Empty the form of the inputs of a late message that has arrived. */
export function dropReturnedInputs(thread) {
  const returned = sent.get(thread);
  for (const [owner, texts] of typed) if (texts === returned) keepTexts(owner, NOTHING); // it may have begun meanwhile
}

/** Give the inputs that were typed on the start page to the conversation that has begun there. */
export function moveInputs(thread) {
  const texts = getTexts(null);
  if (texts === NOTHING) return;
  keepTexts(null, NOTHING);
  keepTexts(thread, texts);
}

/**
 * @param {{data: import("../state/types.mjs").ComposerData & Partial<import("../state/types.mjs").KeptChoice>,
 *   onRun: (text: string) => void}} props `onRun` begins a graph without messages
 */
export function GraphInputs({ data, onRun }) {
  const thread = data.thread ?? null;
  const graph = data.choice?.graph ?? data.graph;
  const form = data.forms?.[graph];
  const texts = useSyncExternalStore(subscribe, () => getTexts(thread));
  useLayoutEffect(() => void fieldsByThread.set(thread, form?.has_messages ? form.fields : []));
  if (!form) return null;
  const onChange = (name, value) => keepTexts(thread, { ...texts, [name]: value });
  const run = () => onRun(writeObject({ ...listNulls(form.fields), ...writeInputs(form.fields, texts) }));
  // The key is not the conversation: where its first message begins it, the focus stays in the form.
  return h(InputForm, { key: graph, form, texts, onChange, onRun: run });
}

/** A graph without messages gets null for an empty field that it requires and that may be null. */
const listNulls = (fields) =>
  Object.fromEntries(fields.filter((field) => field.is_null_when_empty).map(({ name }) => [name, "null"]));
