/** The palette: places and actions found by a few letters. With it, the list of places to go back to, and what the keys do. */
import { BACK, offered } from "../commands.mjs";
import { count, figure } from "../format.mjs";
import { Reading, useDialog } from "./reading.mjs";
import { style } from "./style.mjs";

const { createElement: h, useEffect, useId, useMemo, useState } = window.React;

const GROUPS = ["Actions", BACK, "Branches", "Conversations"];
const MOST = 50; // lines: who looks for more types more letters
const MOD = /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : "Ctrl";
const KEYS = [
  [["Enter"], "send"],
  [["Shift", "Enter"], "begin a new line"],
  [[MOD, "K"], "find a place or an action"],
  [[MOD, "S"], "save a checkpoint"],
  [["Esc", "Esc"], "in the empty field: choose a place to go back to"],
  [["Alt", "↑"], "show the checkpoint before"],
  [["Alt", "↓"], "show the checkpoint after"],
  [["Esc"], "close what is open"],
  [["?"], "show this"],
];

style("palette.css");

/** @returns {import("../commands.mjs").Command[]} what the buttons of the page do, those that can be pressed now */
function pressable() {
  const buttons = [...document.querySelectorAll(".conversation-bar button[aria-label]:not(#show-more), #theme")];
  const able = buttons.filter((button) => !button.disabled && !button.hidden && button.getAttribute("aria-disabled") !== "true");
  return able.map((button) => ({ group: "Actions", name: button.getAttribute("aria-label"), run: () => button.click() }));
}

/** What belongs together stands together. @param {import("../commands.mjs").Command[]} commands */
const grouped = (commands) => GROUPS.flatMap((wanted) => commands.filter(({ group }) => group === wanted));

/** @param {import("../commands.mjs").Command[]} commands @param {string} text @returns those that have all of its words */
function matching(commands, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter(({ group, name }) => words.every((word) => `${group} ${name}`.toLowerCase().includes(word)));
}

/** @param {{onlyBack?: boolean, onClose: () => void}} props */
export function Palette({ onlyBack = false, onClose }) {
  const id = useId();
  const dialog = useDialog(onClose);
  const all = useMemo(() => (onlyBack ? offered().filter(({ group }) => group === BACK) : grouped([...offered(), ...pressable()])), []);
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const matched = matching(all, text);
  const found = matched.slice(0, MOST);
  const at = Math.min(place, found.length - 1);
  useEffect(() => {
    dialog.current.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at, text]);

  const choose = (command) => {
    onClose();
    command.run();
  };
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.nativeEvent.isComposing || (!step && event.key !== "Enter") || found.length === 0) return;
    event.preventDefault();
    if (step) setPlace((at + step + found.length) % found.length);
    else choose(found[at]);
  };
  const name = onlyBack ? "Go back to a place" : "Find a place or an action";
  return h(
    "dialog",
    { ref: dialog, className: "modal show palette", "aria-label": name, onCancel: (event) => (event.preventDefault(), onClose()), onPointerDown: (event) => event.target === dialog.current && onClose() },
    h(
      "div",
      { className: "palette-box" },
      h("input", {
        type: "text",
        role: "combobox",
        className: "form-control",
        placeholder: name,
        "aria-label": name,
        "aria-expanded": found.length > 0,
        "aria-controls": `${id}-list`,
        "aria-activedescendant": at >= 0 ? `${id}-${at}` : undefined,
        autoComplete: "off",
        value: text,
        onChange: (event) => (setText(event.target.value), setPlace(0)),
        onKeyDown,
      }),
      h(
        "div",
        { id: `${id}-list`, role: "listbox", tabIndex: -1, "aria-label": name, onMouseDown: (event) => event.preventDefault() }, // the field keeps the focus
        GROUPS.filter((group) => found.some((command) => command.group === group)).map((group) => h(Group, { key: group, group, found, at, id, onChoose: choose })),
      ),
      all.length > 0 && h("p", { className: "visually-hidden", role: "status" }, `${count(matched.length, "line")} found`),
      matched.length > MOST && h("p", { className: "palette-foot quiet" }, `… and ${figure(matched.length - MOST)} more: type some letters.`),
      found.length === 0 && h("p", { className: "pane-empty", role: "status" }, all.length === 0 ? "There is nothing to go back to yet." : "Nothing has these words."),
      onlyBack && h("p", { className: "palette-foot quiet" }, "Nothing moves before you were asked."),
    ),
  );
}

/** Lines of one kind under their name. @param {{group: string, found: import("../commands.mjs").Command[], at: number, id: string, onChoose: Function}} props */
function Group({ group, found, at, id, onChoose }) {
  const line = (command, index) =>
    command.group === group &&
    h(
      "div",
      { key: index, id: `${id}-${index}`, role: "option", "aria-selected": index === at, onClick: () => onChoose(command) },
      h("span", { className: "palette-name" }, command.name),
      command.detail && h("span", { className: "palette-detail" }, command.detail),
    );
  return h("div", { role: "group", "aria-label": group }, h("div", { className: "palette-group", "aria-hidden": true }, group), found.map(line));
}

/** @param {{onClose: () => void}} props */
export function KeysHelp({ onClose }) {
  const row = ([keys, does]) =>
    h("div", { key: keys.join() }, h("dt", null, keys.map((key, place) => h("kbd", { key: place }, key))), h("dd", null, does));
  return h(Reading, { title: "Keys", className: "keys-help", onClose }, h("dl", null, KEYS.map(row)));
}
