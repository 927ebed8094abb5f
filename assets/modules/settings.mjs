/** What is chosen for a conversation: the button to its dialog, and what is kept for one that has not begun. */
import { useActions } from "./actions.mjs";
import { icon } from "./icons.mjs";
import { say } from "./toast.mjs";

const { createElement: h, Fragment, useEffect, useState, useSyncExternalStore } = window.React;
const { createPortal } = window.ReactDOM;

/**
 * @typedef {{model?: string, instructions?: string, time_travel?: string}} Choice
 * @typedef {{choice: Choice, model: string, demo: string|null}} Kept  with what the page says of the chosen model
 */

/** @type {Kept|null} for the conversation that begins with the next message, as long as the page is open */
let kept = null;
let isSent = false;
const listeners = new Set();

const listen = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** @param {Kept|null} next */
export function keep(next) {
  kept = next;
  isSent = false;
  for (const listener of listeners) listener();
}

/** @returns {{choice?: Choice}} what comes along with the message that begins a conversation */
export function chosenFor(thread) {
  if (thread || kept === null) return {};
  isSent = true;
  return { choice: kept.choice };
}

/** @returns {Kept|null} what is kept for the conversation that is shown; once it has begun, the server knows it */
export function useKept(thread) {
  const now = useSyncExternalStore(listen, () => kept);
  useEffect(() => {
    if (thread && isSent) keep(null);
  }, [thread]);
  return thread ? null : now;
}

/** @param {{id: string, data?: object, reply?: object, setProps: Function}} props */
export function Settings(props) {
  const act = useActions(props);
  const [opening, setOpening] = useState(null);
  const [Dialog, setDialog] = useState(null);
  const open = () => {
    setOpening(act("open"));
    import("./later/settings-dialog.mjs").then(
      (module) => setDialog(() => module.SettingsDialog),
      () => say("The settings could not be shown; please try again."),
    );
  };
  const isOpen = Dialog !== null && opening !== null && props.data?.op === opening;
  const name = "Conversation settings";
  return h(
    Fragment,
    null,
    h("button", { type: "button", id: props.id, className: "btn", "aria-label": name, title: name, onClick: open }, icon("sliders")),
    isOpen && createPortal(h(Dialog, { title: name, data: props.data, reply: props.reply, kept, keep, act, onClose: () => setOpening(null) }), document.body),
  );
}
