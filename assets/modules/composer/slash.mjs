/**
 * Slash commands: a text in the field that begins with "/" and names a command of the page. The commands are those of the
 * palette (controls/commands.mjs) that have a word.
 */
import { listCommands, useChoicesRevision } from "../controls/commands.mjs";
import { findWords } from "../words/direction.mjs";
import { formatCount } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { useRef, useState, createElement: h, useEffect } = window.React;

/** @param {{id: string, lines: Line[], selected: number, onChoose: (line: Line) => void}} props */
export function SlashList({ id, lines, selected, onChoose }) {
  const list = useRef(null);
  useEffect(() => {
    list.current.children[selected]?.scrollIntoView({ block: "nearest" });
  }, [selected, lines.length]);
  const option = (line, index) =>
    h(
      "div",
      {
        key: index, id: `${id}-${index}`, role: "option", className: "option", "aria-selected": index === selected,
        "aria-disabled": Boolean(line.offReason), onClick: () => onChoose(line),
      },
      h("span", { className: "slash-name" }, line.name),
      h("span", { className: "slash-detail" }, line.detail),
    );
  return h(
    "div",
    { className: "slash-box", onMouseDown: (event) => event.preventDefault() },
    h(
      "div",
      { id, ref: list, role: "listbox", tabIndex: -1, "aria-label": _("Commands"), className: "slash-list" },
      lines.map(option),
    ),
    h("p", { className: "slash-foot" }, _("Enter runs, Tab completes, Esc keeps it as text")),
    h("p", { className: "visually-hidden", role: "status" }, formatCount(lines.length, "command")),
  );
}

// The word, also a mistyped one, and its argument: a path such as /etc/hosts and a comment are none.
const COMMAND_TEXT = /^\s*\/((?:\p{L}[^\s/]{0,29})?)(?:\s+([^]*))?$/u;
const MAX_LINES = 50; // typing more letters narrows a longer list
const NO_LINES = { lines: [], isCommand: false };
const NO_SUCH_NAME = _("There is no such name. Your text is kept.");

/**
 * @typedef {{name: string, detail: string, completed: string, offReason: string|null, run: (() => void)|null}} Line
 *   `completed`: the text of the field with this line; without `run`, Enter completes it as well
 */

/** @returns {boolean} whether the text can be a slash command */
export const isSlashText = (text) => COMMAND_TEXT.test(text);

/**
 * List the lines that complete a text.
 * @param {string} text
 * @returns {{lines: Line[], isCommand: boolean}} `isCommand`: the text is for a command, even if no line completes it
 */
function listLines(text) {
  const [, typed, argument] = COMMAND_TEXT.exec(text) ?? [];
  if (typed === undefined) return NO_LINES;
  const named = listCommands().filter(({ word }) => word);
  if (argument === undefined) {
    const begun = named.filter(({ word }) => word?.startsWith(typed.toLowerCase()));
    const inOrder = [...begun.filter(({ offReason }) => !offReason), ...begun.filter(({ offReason }) => offReason)];
    return toResult(inOrder.map((command) => describeCommand(command)));
  }
  const command = named.find(({ word }) => word === typed.toLowerCase());
  if (command?.choices && !command.offReason) return { lines: listChoices(command, argument), isCommand: true };
  const takesArgument = command && (command.hint || command.choices || argument === "");
  return toResult(takesArgument ? [describeCommand(command, argument.trim())] : []);
}

const toResult = (lines) => ({ lines, isCommand: lines.length > 0 });

/** Return the question about a text that looks like a command, and is none; null for any other text. */
function describeMistake(text) {
  const word = COMMAND_TEXT.exec(text)?.[1];
  if (!word || listLines(text).isCommand) return null;
  return listCommands().some((command) => command.word === word.toLowerCase())
    ? _("/{word} takes no text after it. Send it as text?", { word })
    : _("No command /{word}. Send it as text?", { word });
}

/**
 * Build the line of a command, with the argument that was typed.
 * @param {import("../state/types.mjs").Command} command @param {string} [argument] @returns {Line}
 */
function describeCommand({ word, hint, name, offReason = null, choices, run }, argument = "") {
  const completed = `/${word}${hint || choices ? " " : ""}${argument}`;
  const shownHint = hint && argument === "" ? ` [${hint}]` : choices ? " …" : "";
  return {
    name: `${completed.trimEnd()}${shownHint}`,
    detail: name,
    completed,
    offReason,
    run: choices ? null : () => run?.(argument || undefined),
  };
}

/**
 * List the choices that contain all words of the argument.
 * @param {import("../state/types.mjs").Command} command @param {string} argument @returns {Line[]}
 */
const listChoices = ({ word, choices }, argument) =>
  findWords(choices?.() ?? [], argument, ({ name }) => name)
    .slice(0, MAX_LINES)
    .map((choice) => ({ detail: "", offReason: null, ...choice, completed: `/${word} ${choice.name}` }));

/**
 * Complete and run the command in the field. The list is closed by Escape until the field is empty; its text is then a
 * message.
 * @param {import("./message-field.mjs").MessageFieldState} field
 * @param {(reason: string) => void} refuse
 * @param {boolean} isComing whether the conversation of the field is not shown yet
 * @param {object|null} problem why the last text was refused: the list of the same text would cover it
 * @returns {{lines: Line[], selected: number, isOpen: boolean, choose: (line: Line) => void,
 *   question: string|null, withdraw: () => void, onKeyDown: (event: KeyboardEvent) => boolean, runText: () => boolean,
 *   runHeld: (text: string, submit: Function) => void}} `question` asks about the text in the field, which is no command,
 *   until it is changed or withdrawn; `onKeyDown` and `runText` return whether the key, or the text, was for a command;
 *   `runHeld` runs a text that has left the field, or gives it back
 */
export function useSlash(field, refuse, isComing, problem) {
  const { slashText, isFocused } = field;
  const [selection, setSelection] = useState({ text: "", position: 0 });
  const [isDismissed, setDismissed] = useState(false);
  const [asked, ask] = useState(null); // the text that is asked about
  useChoicesRevision();
  if (slashText === null && isDismissed) setDismissed(false);
  const isOff = slashText === null || isDismissed || isComing; // the commands are those of the page that is shown
  const { lines, isCommand } = isOff ? NO_LINES : listLines(slashText);
  const selected = selection.text === slashText ? Math.min(selection.position, lines.length - 1) : 0;
  const isRefused = useRefusal(slashText, problem);
  const isOpen = isFocused && lines.length > 0 && !isRefused;
  const choose = (line) => {
    if (line.offReason) return refuse(line.offReason);
    field.changeText(line.run ? "" : line.completed);
    line.run?.();
  };
  const runText = () => {
    if (!isOff && describeMistake(slashText)) return ask(slashText), true;
    if (!isCommand) return false;
    if (lines.length > 0) choose(lines[selected]);
    else refuse(NO_SUCH_NAME);
    return true;
  };
  const runHeld = (text, submit) => {
    const held = listLines(text);
    if (!held.isCommand && !describeMistake(text)) return submit(text);
    const [line] = held.lines;
    if (line?.run && !line.offReason) return line.run();
    field.putBack({ text, files: [] });
    if (!held.isCommand) return ask(field.getText());
    if (line === undefined || line.offReason) refuse(line?.offReason ?? NO_SUCH_NAME);
  };
  const select = (position) => setSelection({ text: slashText, position });
  const close = () => setDismissed(true);
  const onKeyDown = (event) => isOpen && handleKey(event, { lines, selected, select, close, complete: field.changeText });
  const question = isOff || asked !== slashText ? null : describeMistake(slashText);
  return { lines, selected, isOpen, choose, question, withdraw: () => ask(null), onKeyDown, runText, runHeld };
}

/** Return whether a text is the one that was refused. */
function useRefusal(text, problem) {
  const refused = useRef({ problem: null, text: null });
  if (refused.current.problem !== problem) refused.current = { problem, text };
  return problem !== null && refused.current.text === text;
}

/** Handle a key of the open list. Enter is the field's own key. @returns {boolean} */
function handleKey(event, { lines, selected, select, close, complete }) {
  if (event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return false;
  const last = lines.length - 1;
  const positions = {
    ArrowDown: selected === last ? 0 : selected + 1,
    ArrowUp: selected === 0 ? last : selected - 1,
    Home: 0,
    End: last,
  };
  if (event.key in positions) select(positions[event.key]);
  else if (event.key === "Tab") complete(lines[selected].completed);
  else if (event.key === "Escape") close();
  else return false;
  event.preventDefault();
  event.stopPropagation();
  return true;
}
