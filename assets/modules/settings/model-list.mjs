/** The list of models: by provider, with a search, and those that were chosen last at the top. */
import { keep, readKeptJson } from "../browser/storage.mjs";
import { icon } from "../controls/icons.mjs";
import { foldText } from "../words/direction.mjs";
import { nameModelAmong } from "../words/format.mjs";
import { _, ngettext } from "../words/words.mjs";
import { MAX_MODELS } from "./several-models.mjs";

const { createElement: h, useEffect, useId, useRef, useState } = window.React;

const RECENT = _("Chosen last");
const RECENT_KEY = "waymark-recent-models";
const MAX_RECENT = 3;
const MIN_MODELS_FOR_RECENT = 6; // fewer are seen at once

/**
 * @typedef {import("../state/types.mjs").ModelItem} ModelItem
 * @typedef {{group: string, model: ModelItem}} Line
 * @param {{models: ModelItem[], current: string, usual: string, several: string[], isSeveral: boolean,
 *   onChoose: (model: ModelItem) => void, onSeveral: (names: string[]) => void, onConnect: (() => void)|null,
 *   onClose: () => void}} props `usual`: the default; `several`: the models that answer at once; `isSeveral`: whether the
 *   list opens for choosing several
 */
export function ModelList({ models, current, usual, several, isSeveral, onChoose, onSeveral, onConnect, onClose }) {
  const id = useId();
  const choice = useSeveralChoice(current, several, isSeveral, onSeveral);
  const specs = models.map(({ name }) => name);
  const { list, lines, selected, onChange, onKeyDown, choose } = useLines(models,
    { onChoose: choice.toggle ?? onChoose, isRemembered: !choice.isOn });
  return h(
    "div",
    { className: "model-list", role: "dialog", "aria-label": _("Choose the model") },
    h("input", {
      type: "text",
      role: "combobox",
      className: "form-control",
      placeholder: _("Find a model"),
      "aria-label": _("Find a model"),
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
      // the field keeps the focus
      { id: `${id}-list`, ref: list, role: "listbox", tabIndex: -1, "aria-label": _("Models"),
        "aria-multiselectable": choice.isOn || undefined, onMouseDown: (event) => event.preventDefault() },
      [...new Set(lines.map(({ group }) => group))].map((group) => h(Group, { key: group, group, lines, specs, selected, id,
        current, usual, checked: choice.isOn ? choice.names : null, onChoose: choose })),
    ),
    lines.length === 0 && h("p", { className: "quiet", role: "status" }, _("No matches.")),
    h("p", { className: "quiet", role: choice.isOn ? "status" : undefined }, choice.hint),
    h(SeveralButtons, { choice, onClose }),
    onConnect && h("button", { type: "button", className: "text-button", onClick: onConnect }, _("Connect a model…")),
  );
}

/** The choice of several models: those with a check mark answer the next question at once. */
function useSeveralChoice(current, several, isSeveral, onSeveral) {
  const [names, setNames] = useState(several.length > 0 ? several : isSeveral ? [current] : null);
  if (names === null)
    return {
      isOn: false,
      names: [],
      hint: _("Takes effect from the next answer."),
      toggle: null,
      start: () => setNames([current]),
    };
  const choose = (next) => {
    setNames(next);
    onSeveral(next);
  };
  const toggle = ({ name }) => {
    if (names.includes(name)) choose(names.filter((each) => each !== name));
    else if (names.length < MAX_MODELS) choose([...names, name]);
  };
  const missing =
    names.length < 2
      ? _("Choose at least two models.")
      : ngettext(
          "{count} model answers the next question.",
          "{count} models answer the next question side by side.",
          names.length,
        );
  const hint =
    names.length >= MAX_MODELS ? _("{limit} models, the most that answer at once.", { limit: MAX_MODELS }) : missing;
  return { isOn: true, names, hint, toggle, end: () => (setNames(null), onSeveral([])) };
}

function SeveralButtons({ choice, onClose }) {
  const button = (label, onClick) => h("button", { type: "button", className: "text-button", onClick }, label);
  if (!choice.isOn) return button(_("Ask several at once…"), choice.start);
  return h(
    "div",
    { className: "model-list-buttons" },
    button(_("Ask one only"), () => (choice.end(), onClose())),
    button(_("Done"), onClose),
  );
}

/**
 * Filter the models by the typed text, and track the selected line. `isRemembered`: a choice is among those that were chosen
 * last.
 */
function useLines(models, { onChoose, isRemembered }) {
  const list = useRef(null);
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const lines = listLines(models, text);
  useEffect(() => {
    list.current.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selected, text]);
  const choose = ({ model }) => {
    if (model.problem) return;
    if (isRemembered) storeRecent(model.name);
    onChoose(model);
  };
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if ((!step && event.key !== "Enter") || lines.length === 0) return;
    event.preventDefault();
    if (step) setSelected((selected + step + lines.length) % lines.length);
    else choose(lines[selected]);
  };
  const onChange = (event) => (setText(event.target.value), setSelected(0));
  return { list, lines, selected, onChange, onKeyDown, choose };
}

/**
 * @param {{group: string, lines: Line[], specs: string[], selected: number, id: string, current: string, usual: string,
 *   checked: string[]|null, onChoose: (line: Line) => void}} props
 */
function Group({ group, lines, specs, selected, id, current, usual, checked, onChoose }) {
  const option = (line, index) =>
    line.group === group &&
    h(
      "div",
      {
        key: index, id: `${id}-${index}`, role: "option", className: "option", "aria-selected": index === selected,
        "aria-checked": checked?.includes(line.model.name), "aria-disabled": Boolean(line.model.problem) || undefined,
        onClick: () => onChoose(line),
      },
      checked &&
        h("span", { className: "model-check", "aria-hidden": true }, checked.includes(line.model.name) && icon("check-lg")),
      h("span", { className: "model-name" }, nameInGroup(line, specs)),
      h(
        "span",
        { className: "quiet" },
        [line.model.name === current && _("in use"), line.model.name === usual && _("default")].filter(Boolean).join(" · "),
      ),
      line.model.problem && h("span", { className: "model-problem" }, line.model.problem),
    );
  const label = (group !== RECENT && lines.find((line) => line.group === group)?.model.provider) || group;
  return h(
    "div",
    { role: "group", "aria-label": label },
    h("div", { className: "model-group", "aria-hidden": true }, label),
    lines.map(option),
  );
}

/** List the models that contain all words of the text. @returns {Line[]} */
function listLines(models, text) {
  const words = foldText(text).split(/\s+/).filter(Boolean);
  const matching = models.filter(({ name }) => words.every((word) => foldText(name).includes(word)));
  const byProvider = groupByProvider(matching);
  const recent =
    words.length === 0 && models.length >= MIN_MODELS_FOR_RECENT
      ? readRecent().flatMap((name) => matching.filter((model) => model.name === name))
      : [];
  return [
    ...recent.map((model) => ({ group: RECENT, model })),
    ...byProvider.flatMap(([group, found]) => found.map((model) => ({ group, model }))),
  ];
}

function groupByProvider(models) {
  const isProvider = (name) => models.some((other) => other.name.startsWith(`${name}:`));
  const findProvider = ({ name }) =>
    name.includes(":") ? name.slice(0, name.indexOf(":")) : isProvider(name) ? name : _("Others"); // as in `openai:gpt-5`
  const providers = [...new Set(models.map(findProvider))];
  return providers.map((provider) => [provider, models.filter((model) => findProvider(model) === provider)]);
}

/** @param {Line} line @param {string[]} specs of the whole list */
function nameInGroup({ group, model: { name, provider } }, specs) {
  if (provider) return nameModelAmong(name, specs);
  return name.startsWith(`${group}:`) ? name.slice(group.length + 1) : name; // graphs, the demo's, unknown providers
}

/** @returns {string[]} */
const readRecent = () => readKeptJson(RECENT_KEY) ?? [];

const storeRecent = (name) =>
  keep(RECENT_KEY, JSON.stringify([name, ...readRecent().filter((each) => each !== name)].slice(0, MAX_RECENT)));
