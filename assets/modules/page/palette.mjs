/**
 * The palette finds positions and actions by a few letters, and every message by its words. This module also has the
 * positions to go back to.
 */
import { Combobox } from "../controls/combobox.mjs";
import { GO_BACK, listCommands, nameKeys, useChoicesRevision } from "../controls/commands.mjs";
import { useDialog } from "../controls/dialog.mjs";
import { isGoing, useChosenThread, whenShown } from "../state/chosen-thread.mjs";
import { getOpenThread, showMessage } from "../state/show-message.mjs";
import { findWords } from "../words/direction.mjs";
import { formatAge, formatCount, formatNumber } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { HitLine, SEARCH_HINT, SearchState, openHit, useSearch } from "./search.mjs";

const { Fragment, createElement: h, useMemo, useState } = window.React;

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
  const commands = listCommands().filter(isOn);
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

/** List the commands that contain all words of the text. */
const matchWords = (commands, text) => findWords(commands, text, ({ group, name }) => `${group} ${name}`);

/** List conversations that the page has not loaded, by their titles. */
function listFoundThreads(threads, commands, text) {
  const known = new Set([...commands.map(({ thread }) => thread), getOpenThread()]);
  const lines = threads
    .filter(({ id }) => !known.has(id))
    .map(({ id, title, updated }) => ({
      group: _("Conversations"),
      name: title,
      detail: formatAge(updated, Date.now()),
      thread: id,
      run: () => showMessage(id, null),
    }));
  return matchWords(lines, text.replace(TAG_FILTER, " ")); // the server has filtered by tags
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

/**
 * The palette, while it has `data`.
 * @param {{data?: {onlyBack?: boolean}|null, setProps: (props: object) => void}} props
 */
export const Palette = ({ data, setProps }) =>
  data ? h(OpenPalette, { ...data, onClose: () => setProps({ data: null }) }) : null;

/** @param {{onlyBack?: boolean, onClose: () => void}} props */
function OpenPalette({ onlyBack = false, onClose }) {
  const dialog = useDialog(onClose);
  const [opened, setOpened] = useState(null); // the command whose choices are shown
  const [text, setText] = useState("");
  const revision = useChoicesRevision();
  const { isShown } = useChosenThread();
  const commands = useMemo(() => listPaletteCommands(opened, onlyBack), [opened, revision, isShown]);
  const isFiltered = onlyBack || opened !== null;
  const matches = matchWords(commands, text);
  const found = useSearch(isFiltered ? "" : text);
  const lines = groupCommands([
    ...matches.slice(0, MAX_LINES),
    ...listFoundThreads(found.threads, commands, text),
    ...listHits(found.hits),
  ]);
  const choose = (command) => {
    if (command.choices) return setText(""), setOpened(command);
    onClose();
    runInChosen(command);
  };
  const name = opened?.name ?? (onlyBack ? _("Go back to a place") : _("Find a conversation, checkpoint or action"));
  return h(
    "dialog",
    { ref: dialog, className: "modal show palette", "aria-label": name,
      onCancel: (event) => (event.preventDefault(), onClose()),
      onPointerDown: (event) => event.target === dialog.current && onClose() },
    h("div", { className: "palette-box" },
      h(Combobox, { key: name, name, lines, onText: setText, onChoose: choose, describe: describeLine }),
      h(PaletteFoot, { total: commands.length, matches, lines, found, text, onlyBack, isFiltered })),
  );
}

function PaletteFoot({ total, matches, lines, found, text, onlyBack, isFiltered }) {
  const noneText = onlyBack ? _("There is nothing to go back to yet.") : _("There is nothing to choose from yet.");
  const emptyText = total === 0 ? noneText : found.isSearching ? _("Searching…") : _("No matches.");
  const line = (className, sentence, role = "") => h("p", { className, role: role || undefined }, sentence);
  const foot = (sentence) => line("palette-foot quiet", sentence);
  return h(
    Fragment,
    null,
    total > 0 &&
      !found.isSearching &&
      line("visually-hidden", _("{lines} found", { lines: formatCount(lines.length, "line") }), "status"),
    matches.length > MAX_LINES &&
      foot(_("… and {limit} more. Type to narrow.", { limit: formatNumber(matches.length - MAX_LINES) })),
    lines.length === 0 && !found.failed && line("pane-empty", emptyText, "status"),
    h(SearchState, { found, className: "palette-foot quiet" }),
    !isFiltered && text === "" && foot(SEARCH_HINT),
    onlyBack && foot(_("Nothing happens until you confirm.")),
  );
}

/** @param {import("../state/types.mjs").Command & {hit?: import("./search.mjs").Hit}} command */
function describeLine({ hit, name, detail, word, keys }) {
  return {
    className: hit ? "option palette-hit" : "option",
    children: h(Fragment, null,
      hit ? h(HitLine, { hit, now: Date.now() }) : h("span", { className: "palette-name" }, name),
      (detail || word) && h("span", { className: "palette-detail" }, detail ?? `/${word}`),
      keys && h("span", { className: "palette-keys", "aria-hidden": true },
        nameKeys(keys).map((key) => h("kbd", { key }, key)))),
  };
}
