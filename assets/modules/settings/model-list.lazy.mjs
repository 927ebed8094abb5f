/** The list of models: by provider, with a search, and those that were chosen last at the top. */
import { loadStyle } from "../lib/style.lazy.mjs";

const { createElement: h, useEffect, useId, useRef, useState } = window.React;

const RECENT = "Chosen last";
const RECENT_KEY = "waymark-recent-models";
const MAX_RECENT = 3;
const MIN_MODELS_FOR_RECENT = 6; // fewer are seen at once

loadStyle(new URL("./model-list.lazy.css", import.meta.url));

/**
 * @typedef {import("../lib/types.mjs").ModelItem} ModelItem
 * @typedef {{group: string, model: ModelItem}} Line
 * @param {{models: ModelItem[], current: string, usual: string, onChoose: (model: ModelItem) => void, onConnect: (() => void)|null, onClose: () => void}} props `usual`: the default
 */
export function ModelList({ models, current, usual, onChoose, onConnect, onClose }) {
  const id = useId();
  const { list, lines, selected, onChange, onKeyDown, choose } = useLines(models, { onChoose, onConnect, onClose });
  return h(
    "div",
    { className: "model-list", role: "dialog", "aria-label": "Choose the model" },
    h("input", {
      type: "text",
      role: "combobox",
      className: "form-control",
      placeholder: "Find a model",
      "aria-label": "Find a model",
      "aria-expanded": true,
      "aria-controls": `${id}-list`,
      "aria-activedescendant": lines.length > 0 ? `${id}-${selected}` : undefined,
      autoComplete: "off",
      autoFocus: true,
      onChange,
      onKeyDown,
    }),
    h(
      "div",
      { id: `${id}-list`, ref: list, role: "listbox", tabIndex: -1, "aria-label": "Models", onMouseDown: (event) => event.preventDefault() }, // the field keeps the focus
      [...new Set(lines.map(({ group }) => group))].map((group) => h(Group, { key: group, group, lines, selected, id, current, usual, onChoose: choose })),
    ),
    lines.length === 0 && h("p", { className: "quiet", role: "status" }, "No matches."),
    h("p", { className: "quiet" }, "Takes effect from the next answer."),
    onConnect && h("button", { type: "button", className: "text-button", onClick: onConnect }, "Connect a model…"),
  );
}

/** Filter the models by the typed text, and track the selected line. */
function useLines(models, { onChoose, onConnect, onClose }) {
  const list = useRef(null);
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const lines = listLines(models, text);
  useEffect(() => {
    list.current.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selected, text]);
  const choose = ({ model }) => {
    storeRecent(model.name);
    onChoose(model);
  };
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Tab" && !onConnect) onClose(); // else it goes to the button below the list
    if (event.nativeEvent.isComposing || (!step && event.key !== "Enter") || lines.length === 0) return;
    event.preventDefault();
    if (step) setSelected((selected + step + lines.length) % lines.length);
    else choose(lines[selected]);
  };
  const onChange = (event) => (setText(event.target.value), setSelected(0));
  return { list, lines, selected, onChange, onKeyDown, choose };
}

/** @param {{group: string, lines: Line[], selected: number, id: string, current: string, usual: string, onChoose: (line: Line) => void}} props */
function Group({ group, lines, selected, id, current, usual, onChoose }) {
  const option = (line, index) =>
    line.group === group &&
    h(
      "div",
      { key: index, id: `${id}-${index}`, role: "option", className: "option", "aria-selected": index === selected, onClick: () => onChoose(line) },
      h("span", { className: "model-name" }, nameWithin(group, line.model.name)),
      h("span", { className: "quiet" }, [line.model.name === current && "in use", line.model.name === usual && "default"].filter(Boolean).join(" · ")),
    );
  return h("div", { role: "group", "aria-label": group }, h("div", { className: "model-group", "aria-hidden": true }, group), lines.map(option));
}

/** List the models that contain all words of the text. @returns {Line[]} */
function listLines(models, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = models.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  const byProvider = groupByProvider(matching);
  const recent = words.length === 0 && models.length >= MIN_MODELS_FOR_RECENT ? readRecent().flatMap((name) => matching.filter((model) => model.name === name)) : [];
  return [...recent.map((model) => ({ group: RECENT, model })), ...byProvider.flatMap(([group, found]) => found.map((model) => ({ group, model })))];
}

function groupByProvider(models) {
  const providers = [...new Set(models.map(({ name }) => findProvider(name)))];
  return providers.map((provider) => [provider, models.filter(({ name }) => findProvider(name) === provider)]);
}

/** @param {string} name as in `openai:gpt-5` */
const findProvider = (name) => (name.includes(":") ? name.slice(0, name.indexOf(":")) : "Others");
const nameWithin = (group, name) => (name.startsWith(`${group}:`) ? name.slice(group.length + 1) : name);

function readRecent() {
  try {
    const stored = JSON.parse(localStorage.getItem(RECENT_KEY));
    return Array.isArray(stored) ? stored.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}

function storeRecent(name) {
  try {
    localStorage.setItem(RECENT_KEY, JSON.stringify([name, ...readRecent().filter((each) => each !== name)].slice(0, MAX_RECENT)));
  } catch {
    // storage is full or blocked: nothing is remembered
  }
}
