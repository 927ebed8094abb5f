/** The settings of a conversation: the button to their dialog, and the choice for a new conversation. */
import { useActions } from "../lib/actions.mjs";
import { icon } from "../lib/icons.mjs";
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, Fragment, useEffect, useState, useSyncExternalStore } = window.React;
const { createPortal } = window.ReactDOM;

const SettingsDialog = lazy(
  () => import("./settings-dialog.lazy.mjs"),
  "SettingsDialog",
  _("The settings could not be loaded. Please try again."),
);

/**
 * @type {import("../lib/types.mjs").KeptChoice|null} for the conversation that the next message begins; kept while the page
 *   is open
 */
let keptChoice = null;
let isChoiceSent = false;
const listeners = new Set();

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** @param {import("../lib/types.mjs").KeptChoice|null} next */
export function keepChoice(next) {
  keptChoice = next;
  isChoiceSent = false;
  for (const listener of listeners) listener();
}

/** @returns {{choice?: import("../lib/types.mjs").Choice}} fields to send with the first message of a conversation */
export function takeChoice(thread) {
  if (thread || keptChoice === null) return {};
  isChoiceSent = true;
  return { choice: keptChoice.choice };
}

/**
 * @returns {import("../lib/types.mjs").KeptChoice|null} the choice for the shown new conversation; once it has begun, the
 *   server has it
 */
export function useKeptChoice(thread) {
  const current = useSyncExternalStore(subscribe, () => keptChoice);
  useEffect(() => {
    if (thread && isChoiceSent) keepChoice(null);
  }, [thread]);
  return thread ? null : current;
}

/**
 * @param {{id: string, data?: import("../lib/types.mjs").SettingsData & {request_id: string},
 *   reply?: import("../lib/types.mjs").Reply, setProps: Function}} props
 */
export function SettingsButton(props) {
  const act = useActions(props);
  const [opening, setOpening] = useState(null);
  const open = () => {
    setOpening(act("open"));
    SettingsDialog.load(); // while the server answers
  };
  const isOpen = opening !== null && props.data?.request_id === opening;
  const name = _("Conversation settings");
  return h(
    Fragment,
    null,
    h(
      "button",
      { type: "button", id: props.id, className: "menu-item", onClick: open },
      icon("sliders"),
      h("span", null, name),
    ),
    isOpen &&
      createPortal(
        h(SettingsDialog, {
          title: name, data: props.data, reply: props.reply, keptChoice, keepChoice, act, onClose: () => setOpening(null),
        }),
        document.body,
      ),
  );
}
