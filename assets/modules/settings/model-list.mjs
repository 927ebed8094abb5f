/** The list of models: by provider, with a search, and those that were chosen last at the top. */
import { keep, readKeptJson } from "../browser/storage.mjs";
import { button } from "../controls/buttons.mjs";
import { Combobox } from "../controls/combobox.mjs";
import { icon } from "../controls/icons.mjs";
import { findWords } from "../words/direction.mjs";
import { _, ngettext } from "../words/words.mjs";
import { MAX_MODELS } from "./settings.mjs";

const { Fragment, createElement: h, useState } = window.React;

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
  const [text, setText] = useState("");
  const choice = useSeveralChoice(current, several, isSeveral, onSeveral);
  const lines = listLines(models, text);
  const choose = ({ model }) => {
    if (model.problem) return;
    if (!choice.isOn) storeRecent(model.name);
    (choice.toggle ?? onChoose)(model);
  };
  const describe = ({ model: { name, label, problem } }) => ({
    "aria-checked": choice.isOn ? choice.names.includes(name) : undefined,
    "aria-disabled": Boolean(problem) || undefined,
    children: h(Fragment, null,
      choice.isOn &&
        h("span", { className: "model-check", "aria-hidden": true }, choice.names.includes(name) && icon("check-lg")),
      h("span", { className: "model-name" }, label),
      h("span", { className: "quiet" },
        [name === current && _("in use"), name === usual && _("default")].filter(Boolean).join(" · ")),
      problem && h("span", { className: "model-problem" }, problem)),
  });
  return h(
    "div",
    { className: "model-list", role: "dialog", "aria-label": _("Choose the model") },
    h(Combobox, { name: _("Find a model"), listName: _("Models"), isMultiple: choice.isOn, lines, onText: setText,
      onChoose: choose, describe }),
    lines.length === 0 && h("p", { className: "quiet", role: "status" }, _("No matches.")),
    h("p", { className: "quiet", role: choice.isOn ? "status" : undefined }, choice.hint),
    h(SeveralButtons, { choice, onClose }),
    onConnect && button("text-button", _("Connect a model…"), onConnect),
  );
}

/** The choice of several models: those with a check mark answer the next question at once. */
function useSeveralChoice(current, several, isSeveral, onSeveral) {
  const [names, setNames] = useState(several.length > 0 ? several : isSeveral ? [current] : null);
  const start = () => setNames([current]);
  if (names === null) return { isOn: false, names: [], hint: _("Takes effect from the next answer."), toggle: null, start };
  const choose = (next) => {
    setNames(next);
    onSeveral(next);
  };
  const toggle = ({ name }) => {
    if (names.includes(name)) choose(names.filter((each) => each !== name));
    else if (names.length < MAX_MODELS) choose([...names, name]);
  };
  return { isOn: true, names, hint: describeSeveral(names.length), toggle, end: () => (setNames(null), onSeveral([])) };
}

function describeSeveral(count) {
  if (count < 2) return _("Choose at least two models.");
  if (count >= MAX_MODELS) return _("{limit} models, the most that answer at once.", { limit: MAX_MODELS });
  return ngettext(
    "{count} model answers the next question.",
    "{count} models answer the next question side by side.",
    count,
  );
}

function SeveralButtons({ choice, onClose }) {
  if (!choice.isOn) return button("text-button", _("Ask several at once…"), choice.start);
  return h(
    "div",
    { className: "model-list-buttons" },
    button("text-button", _("Ask one only"), () => (choice.end(), onClose())),
    button("text-button", _("Done"), onClose),
  );
}

/** List the models that contain all words of the text. @returns {Line[]} */
function listLines(models, text) {
  const matching = findWords(models, text, ({ name }) => name);
  const recent =
    text.trim() === "" && models.length >= MIN_MODELS_FOR_RECENT
      ? readRecent().flatMap((name) => matching.filter((model) => model.name === name))
      : [];
  return [
    ...recent.map((model) => ({ group: RECENT, model })),
    ...[...Map.groupBy(matching, ({ group }) => group).values()].flat().map((model) => ({ group: model.group, model })),
  ];
}

/** @returns {string[]} */
const readRecent = () => readKeptJson(RECENT_KEY) ?? [];

const storeRecent = (name) =>
  keep(RECENT_KEY, JSON.stringify([name, ...readRecent().filter((each) => each !== name)].slice(0, MAX_RECENT)));
