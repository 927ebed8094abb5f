/** The field with its files: the message that is being written. */
import { fitHeight } from "../lib/text-field.mjs";
import { useAttachments } from "./attaching.mjs";
import { estimateTokens } from "./meter.mjs";
import { joinTexts, storeUnsent } from "./unsent-messages.mjs";

const { useCallback, useMemo, useRef, useState } = window.React;

const MAX_FIELD_HEIGHT_PX = 240;
const COMMAND = /^\s*\/(c(o(m(p(a(c(t(\s[^]*)?)?)?)?)?)?)?)?$/; // /compact, or a prefix of it

/**
 * @typedef {{text: string, files: import("../lib/types.mjs").ChosenFile[]}} Written
 * @typedef {{field: {current: HTMLTextAreaElement}, attached: object, isEmpty: boolean, tokens: number, isCommand: boolean, onInput: () => void,
 *   read: () => string, setText: (text: string) => void, takeAll: () => Written, takeOut: (message: Written) => boolean,
 *   putBack: (message: Written) => void}} MessageBox
 * @param {string|null} thread whose draft is kept
 * @returns {MessageBox}
 */
export function useMessageBox(thread) {
  const field = useRef(null);
  const shown = useRef(thread);
  shown.current = thread;
  const attached = useAttachments();
  const [isEmpty, setEmpty] = useState(true);
  const [tokens, setTokens] = useState(0);
  const [isCommand, setCommand] = useState(false);
  const measure = useCallback(() => {
    fitHeight(field.current, MAX_FIELD_HEIGHT_PX);
    setEmpty(field.current.value.trim() === "");
    setTokens(estimateTokens(field.current.value));
    setCommand(COMMAND.test(field.current.value));
  }, []);
  const moves = useMemo(() => moveText(field, shown, measure, attached), [measure, attached.current, attached.put, attached.drop]);
  const isBare = isEmpty && attached.files.length === 0;
  return { field, attached, isEmpty: isBare || attached.isReading, tokens, isCommand, ...moves };
}

/** Build the functions that move text and files into and out of the field. They store the remaining text as the draft. */
function moveText(field, shown, measure, attached) {
  const keep = () => storeUnsent("draft", shown.current, field.current.value);
  const setText = (text) => {
    field.current.value = text;
    measure();
  };
  const set = (text) => {
    setText(text);
    keep();
  };
  return {
    setText,
    read: () => field.current.value,
    onInput: () => {
      measure();
      keep();
    },
    takeAll: () => {
      const written = { text: field.current.value, files: attached.current() };
      set("");
      attached.drop(written.files);
      return written;
    },
    /** @returns {boolean} false if the field does not begin with the unchanged message */
    takeOut: ({ text, files }) => {
      const { value } = field.current;
      if (!value.startsWith(text)) return false;
      set(value.slice(text.length).trimStart());
      attached.drop(files);
      return true;
    },
    putBack: ({ text, files }) => {
      set(joinTexts(text, field.current.value));
      attached.put(files);
    },
  };
}
