/**
 * The palette finds positions and actions by a few letters, and every message by its words. This module also has the
 * positions to go back to.
 */
import { GO_BACK, listCommands, useChoicesRevision } from "../controls/commands.mjs";
import { MODIFIER_KEY } from "../controls/copying.mjs";
import { useDialog } from "../controls/dialog.mjs";
import { isGoing, useChosenThread, whenShown } from "../state/chosen-thread.mjs";
import { getOpenThread, showMessage } from "../state/show-message.mjs";
import { foldText } from "../words/direction.mjs";
import { formatAge, formatCount, formatNumber } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { listBarCommands } from "./bar-commands.mjs";
import { HitLine, SEARCH_HINT, SearchState, openHit, useSearch } from "./search.mjs";

const { Fragment, createElement: h, useEffect, useId, useMemo, useState } = window.React;

const [FOUND_CHECKPOINTS, FOUND_MESSAGES] = [_("Checkpoints found"), _("Messages found")];
const GROUPS = [_("Actions"), GO_BACK, _("Branches"), _("Conversations"), FOUND_CHECKPOINTS, FOUND_MESSAGES];
const MAX_LINES = 50; // typing more letters narrows a longer list

const TAG_FILTER = /(?<!\S)tag:("[^"]*"?|[^\s"]+)/gi;

/** Order commands by their groups. @param {import("../state/types.mjs").Command[]} commands */
const groupCommands = (commands) =>
  [...new Set([...GROUPS, ...commands.map(({ group }) => group)])].flatMap((wanted) =>
    commands.filter(({ group }) => group === wanted),
  );

/** @param {import("../state/types.mjs").Command|null} command whose choices are listed @param {boolean} onlyBack */
function listPaletteCommands(command, onlyBack) {
  /** @param {{offReason?: string|null}} line */
  const isOn = ({ offReason }) => !offReason;
  const choices = command?.choices?.() ?? [];
  if (command !== null) return choices.filter(isOn).map((choice) => ({ ...choice, group: command.name }));
  const commands = [...listCommands(), ...listBarCommands()].filter(isOn);
  // To somebody who searches, a message is to be read: only the list of places to go back to offers to restore it.
  return groupCommands(commands.filter(({ group, isQuote }) => (onlyBack ? group === GO_BACK : !isQuote)));
}

/** Run a command in the chosen conversation, unless it leads elsewhere. */
function runInChosen(command) {
  if (!isGoing() || isOfNoThread(command)) command.run();
  else whenShown(() => findAgain(command)?.run?.());
}

/** Return whether a line leads elsewhere, and does nothing in the conversation. */
const isOfNoThread = (command) => "thread" in command || "hit" in command;

/** Find a command of the conversation that was shown in the one that is now. */
const findAgain = ({ group, name }) =>
  listPaletteCommands(null, group === GO_BACK).find((each) => each.group === group && each.name === name);

/**
 * @param {import("../state/types.mjs").Command[]} commands
 * @param {string} text
 * @returns the commands that contain all words of the text
 */
function matchWords(commands, text) {
  const words = foldText(text).split(/\s+/).filter(Boolean);
  return commands.filter(({ group, name }) => words.every((word) => foldText(`${group} ${name}`).includes(word)));
}

/** List conversations that the page has not loaded, by their titles. */
function listFoundThreads(threads, commands, text) {
  const known = new Set([...commands.map(({ thread }) => thread), getOpenThread()]);
  const others = threads.filter(({ id }) => !known.has(id));
  const words = text.replace(TAG_FILTER, " "); // the server has filtered by tags
  return matchWords(
    others.map(({ id, title, updated }) => ({
      group: _("Conversations"),
      name: title,
      detail: formatAge(updated, Date.now()),
      thread: id,
      run: () => showMessage(id, null),
    })),
    words,
  );
}

/** @param {import("./search.mjs").Hit[]} hits @returns {import("../state/types.mjs").Command[]} a line for each hit */
function listHits(hits) {
  const lines = hits.map((hit) => ({
    group: hit.checkpoint === null ? FOUND_MESSAGES : FOUND_CHECKPOINTS,
    name: hit.title,
    hit,
    run: () => openHit(hit),
  }));
  return groupCommands(lines);
}

/** @param {{onlyBack?: boolean, onClose: () => void}} props */
export function Palette({ onlyBack = false, onClose }) {
  const id = useId();
  const dialog = useDialog(onClose);
  const [opened, setOpened] = useState(null); // the command whose choices are shown
  const revision = useChoicesRevision();
  const { isShown } = useChosenThread();
  const commands = useMemo(() => listPaletteCommands(opened, onlyBack), [opened, revision, isShown]);
  const { matches, lines, selected, found, text, onType, onStep } = useLines(commands, dialog, onlyBack || opened !== null);
  const choose = (command) => {
    if (command.choices) return onType(""), setOpened(command);
    onClose();
    runInChosen(command);
  };
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if ((!step && event.key !== "Enter") || lines.length === 0) return;
    event.preventDefault();
    if (step) onStep(step);
    else choose(lines[selected]);
  };
  const name = opened?.name ?? (onlyBack ? _("Go back to a place") : _("Find a conversation, checkpoint or action"));
  return h(
    "dialog",
    { ref: dialog, className: "modal show palette", "aria-label": name,
      onCancel: (event) => (event.preventDefault(), onClose()),
      onPointerDown: (event) => event.target === dialog.current && onClose() },
    h("div", { className: "palette-box" },
      h(SearchField, { key: name, id, name, lines, selected, onType, onKeyDown }),
      h(
        "div",
        { id: `${id}-list`, role: "listbox", tabIndex: -1, "aria-label": name,
          onMouseDown: (event) => event.preventDefault() }, // the field keeps the focus
        [...new Set(lines.map(({ group }) => group))].map((group) =>
          h(Group, { key: group, group, lines, selected, id, onChoose: choose })),
      ),
      h(PaletteFoot,
        { total: commands.length, matches, lines, found, text, onlyBack, isFiltered: onlyBack || opened !== null }),
    ),
  );
}

/** Filter the lines by the typed text, search for it, and track the selected line. */
function useLines(commands, dialog, isFiltered) {
  const [text, setText] = useState("");
  const [position, setPosition] = useState(0);
  const matches = matchWords(commands, text);
  const found = useSearch(isFiltered ? "" : text);
  const lines = groupCommands([
    ...matches.slice(0, MAX_LINES),
    ...listFoundThreads(found.threads, commands, text),
    ...listHits(found.hits),
  ]);
  const selected = Math.min(position, lines.length - 1);
  useEffect(() => {
    dialog.current.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selected, text]);
  const onType = (typed) => (setText(typed), setPosition(0));
  const onStep = (step) => setPosition((selected + step + lines.length) % lines.length);
  return { matches, lines, selected, found, text, onType, onStep };
}

function SearchField({ id, name, lines, selected, onType, onKeyDown }) {
  return h("input", {
    type: "text",
    role: "combobox",
    className: "form-control",
    placeholder: name,
    "aria-label": name,
    "aria-expanded": lines.length > 0,
    "aria-controls": `${id}-list`,
    "aria-activedescendant": selected >= 0 ? `${id}-${selected}` : undefined,
    autoComplete: "off",
    autoFocus: true,
    onChange: (event) => onType(event.target.value),
    onKeyDown,
  });
}

function PaletteFoot({ total, matches, lines, found, text, onlyBack, isFiltered }) {
  const emptyText =
    total === 0
      ? onlyBack
        ? _("There is nothing to go back to yet.")
        : _("There is nothing to choose from yet.")
      : found.isSearching
        ? _("Searching…")
        : _("No matches.");
  return h(
    Fragment,
    null,
    total > 0 &&
      !found.isSearching &&
      h(
        "p",
        { className: "visually-hidden", role: "status" },
        _("{lines} found", { lines: formatCount(lines.length, "line") }),
      ),
    matches.length > MAX_LINES &&
      h(
        "p",
        { className: "palette-foot quiet" },
        _("… and {limit} more. Type to narrow.", { limit: formatNumber(matches.length - MAX_LINES) }),
      ),
    lines.length === 0 && !found.failed && h("p", { className: "pane-empty", role: "status" }, emptyText),
    h(SearchState, { found, className: "palette-foot quiet" }),
    !isFiltered && text === "" && h("p", { className: "palette-foot quiet" }, SEARCH_HINT),
    onlyBack && h("p", { className: "palette-foot quiet" }, _("Nothing happens until you confirm.")),
  );
}

/**
 * The lines of one group under its heading.
 * @param {{group: string, lines: import("../state/types.mjs").Command[], selected: number, id: string, onChoose: Function}}
 *   props
 */
function Group({ group, lines, selected, id, onChoose }) {
  const now = Date.now();
  const line = (command, index) =>
    command.group === group &&
    h(
      "div",
      {
        key: index, id: `${id}-${index}`, role: "option", className: command.hit ? "option palette-hit" : "option",
        "aria-selected": index === selected, onClick: () => onChoose(command),
      },
      command.hit ? h(HitLine, { hit: command.hit, now }) : h("span", { className: "palette-name" }, command.name),
      (command.detail || command.word) && h("span", { className: "palette-detail" }, command.detail ?? `/${command.word}`),
      command.keys && h("span", { className: "palette-keys", "aria-hidden": true }, listKeys(command.keys)),
    );
  return h(
    "div",
    { role: "group", "aria-label": group },
    h("div", { className: "palette-group", "aria-hidden": true }, group),
    lines.map(line),
  );
}

/** @param {string} shortcuts as in `aria-keyshortcuts`: of several, the first */
const listKeys = (shortcuts) =>
  shortcuts.split(" ")[0].split("+").map((key) => h("kbd", { key }, key === "Control" ? MODIFIER_KEY : key));
