/** The inputs of a user graph beside the message: typed into a form, and sent with the next message of its conversation. */
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useSyncExternalStore } = window.React;

const NOTHING = {};
const NO_INPUTS = { fields: [], texts: NOTHING };
const Form = lazy(() => import("./input-form.lazy.mjs"), "InputForm", _("The form could not be loaded. Please try again."));

/**
 * @typedef {{fields: InputField[], texts: Record<string, string|boolean>}} TypedInputs
 * @type {Map<string|null, TypedInputs>} by conversation, while the page is open
 */
const typed = new Map();
/** @type {Map<string|null, TypedInputs>} those of the last message of each conversation */
const sent = new Map();
const listeners = new Set();

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const getInputs = (thread) => typed.get(thread) ?? NO_INPUTS;

function keepInputs(thread, inputs) {
  if (inputs === NO_INPUTS) typed.delete(thread);
  else typed.set(thread, inputs);
  for (const listener of listeners) listener();
}

/** Read what was typed. An empty field is no input. @returns {object} @throws {SyntaxError} in a field of JSON */
export function readInputs({ fields, texts }) {
  const given = fields.filter(({ name }) => texts[name] !== undefined && texts[name] !== "");
  return Object.fromEntries(given.map(({ name, kind }) => [name, READERS[kind](texts[name])]));
}

const READERS = {
  ...{ text: String, choice: String, boolean: Boolean, number: Number, integer: Number },
  texts: (text) => text.split("\n").filter((line) => line.trim() !== ""),
  json: (text) => JSON.parse(text),
};

/** @returns {string|null} why the inputs cannot be sent */
export function findInputProblem(thread) {
  const { fields, texts } = getInputs(thread);
  const unreadable = fields.find((field) => isUnreadable(field, texts));
  return unreadable ? _("The input {input} is not JSON.", { input: unreadable.label }) : null;
}

function isUnreadable(field, texts) {
  try {
    readInputs({ fields: [field], texts });
    return false;
  } catch {
    return true;
  }
}

/** @returns {{inputs?: object}} fields to send with a message; the form is empty afterwards */
export function takeInputs(thread) {
  sent.delete(thread);
  if (findInputProblem(thread) !== null) return {};
  const inputs = readInputs(getInputs(thread));
  if (Object.keys(inputs).length === 0) return {};
  sent.set(thread, getInputs(thread));
  keepInputs(thread, NO_INPUTS);
  return { inputs };
}

/** Return the inputs of a message that was refused, or is late, to the form. */
export function returnInputs(thread) {
  if (sent.has(thread)) keepInputs(thread, sent.get(thread));
}

/** Empty the form of the inputs of a late message that has arrived. */
export function dropReturnedInputs(thread) {
  const returned = sent.get(thread);
  for (const [owner, inputs] of typed) if (inputs === returned) keepInputs(owner, NO_INPUTS); // it may have begun meanwhile
}

/** Give the inputs that were typed on the start page to the conversation that has begun there. */
export function moveInputs(thread) {
  const inputs = getInputs(null);
  if (inputs === NO_INPUTS) return;
  keepInputs(null, NO_INPUTS);
  keepInputs(thread, inputs);
}

/**
 * @param {{data: import("../lib/types.mjs").ComposerData, onRun: (text: string) => void}} props `onRun` begins a graph
 *   without messages
 */
export function GraphInputs({ data, onRun }) {
  const thread = data.thread ?? null;
  const graph = data.choice?.graph ?? data.graph;
  const form = data.forms?.[graph];
  const texts = useSyncExternalStore(subscribe, () => getInputs(thread).texts);
  if (!form) return null;
  const { fields, has_messages: hasMessages } = form;
  const onChange = (name, value) =>
    keepInputs(thread, { fields: hasMessages ? fields : [], texts: { ...texts, [name]: value } });
  // The key is not the conversation: where its first message begins it, the focus stays in the form.
  return h(Form, { key: graph, form, texts, onChange, onRun: () => onRun(JSON.stringify(readInputs({ fields, texts }))) });
}
