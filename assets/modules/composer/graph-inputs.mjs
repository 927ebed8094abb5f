/** The inputs of a user graph beside the message: typed into a form, and sent with the next message of its conversation. */
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useEffect, useSyncExternalStore } = window.React;

const NOTHING = {};
const NO_INPUTS = { thread: null, fields: [], texts: NOTHING };
const Form = lazy(() => import("./input-form.lazy.mjs"), "InputForm", _("The form could not be loaded. Please try again."));

/**
 * @type {{thread: string|null, fields: InputField[], texts: Record<string, string|boolean>}} as typed, for the conversation
 *   that has them
 */
let typed = NO_INPUTS;
let sent = NO_INPUTS;
const listeners = new Set();

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

function keepInputs(next) {
  typed = next;
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
  const unreadable = typed.thread !== thread ? undefined : typed.fields.find((field) => isUnreadable(field, typed.texts));
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
  if (typed.thread !== thread || findInputProblem(thread) !== null) return {};
  const inputs = readInputs(typed);
  if (Object.keys(inputs).length === 0) return {};
  sent = typed;
  keepInputs(NO_INPUTS);
  return { inputs };
}

/** Return the inputs of a message that was refused, or is late, to the form. */
export function returnInputs(thread) {
  if (sent.thread === thread && sent !== NO_INPUTS) keepInputs(sent);
}

/** Empty the form of the inputs of a late message that has arrived. */
export function dropReturnedInputs() {
  if (typed !== NO_INPUTS && typed.texts === sent.texts) keepInputs(NO_INPUTS);
}

/**
 * @param {{data: import("../lib/types.mjs").ComposerData, onRun: (text: string) => void}} props `onRun` begins a graph
 *   without messages
 */
export function GraphInputs({ data, onRun }) {
  const thread = data.thread ?? null;
  const graph = data.choice?.graph ?? data.graph;
  const form = data.forms?.[graph];
  const texts = useSyncExternalStore(subscribe, () => (typed.thread === thread ? typed.texts : NOTHING));
  useEffect(() => {
    // its first message has begun it
    if (thread !== null && typed.thread === null && typed !== NO_INPUTS) keepInputs({ ...typed, thread });
  }, [thread]);
  if (!form) return null;
  const { fields, has_messages: hasMessages } = form;
  const onChange = (name, value) =>
    keepInputs({ thread, fields: hasMessages ? fields : [], texts: { ...texts, [name]: value } });
  // The key is not the conversation: where its first message begins it, the focus stays in the form.
  return h(Form, { key: graph, form, texts, onChange, onRun: () => onRun(JSON.stringify(readInputs({ fields, texts }))) });
}
