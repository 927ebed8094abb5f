/** An Enter in the field of a conversation that the page does not show yet. */
import { buildPath } from "../lib/addresses.mjs";
import { whenShown } from "../lib/chosen-thread.mjs";
import { goTo } from "../lib/panels.mjs";
import { joinTexts, readUnsent, storeUnsent } from "../lib/unsent-storage.mjs";
import { isSlashText } from "./slash.mjs";

const { useRef } = window.React;

/**
 * Wrap what Enter does. While the conversation is coming, a command waits for it, and a message is queued.
 * @param {string|null} thread
 * @param {import("./chosen-data.mjs").Coming} coming
 * @param {{field: import("./message-field.mjs").MessageFieldState,
 *   drafts: ReturnType<typeof import("./unsent-messages.mjs").useDrafts>,
 *   slash: ReturnType<typeof import("./slash.mjs").useSlash>, send: () => void, submit: (text: string) => void}} parts
 * @returns {() => void}
 */
export function useEnter(thread, { isComing, isLost }, parts) {
  const latest = useRef({});
  latest.current = { ...parts, thread };
  const { field, slash, send } = parts;
  const holdCommand = () => {
    const command = { text: field.getText(), files: [], thread };
    field.changeText("");
    storeUnsent("command", thread, joinTexts(readUnsent("command", thread), command.text)); // it is a draft after a reload
    const run = () => {
      storeUnsent("command", thread, null);
      latest.current.slash.runHeld(command.text, latest.current.submit);
    };
    const returnCommand = () => {
      storeUnsent("command", thread, null);
      const { drafts, ...now } = latest.current;
      (now.thread === thread ? now.field : drafts).putBack(command);
    };
    whenShown(run, returnCommand);
  };
  return () => {
    if (!isComing) return void (slash.runText() || send());
    if (isLost) goTo(buildPath(thread));
    if (isSlashText(field.getText())) holdCommand();
    else if (isReturned(field.getText(), thread)) whenShown(() => latest.current.send());
    else send();
  };
}

/** Return whether a text begins with a sent message without a reply, which is to be sent as the same message. */
function isReturned(text, thread) {
  const sent = readUnsent("sent", thread);
  return sent !== null && text.startsWith(sent.text);
}
