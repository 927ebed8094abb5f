/** The name of the model below the field: the button that opens the list of models. */
import { button } from "../controls/buttons.mjs";
import { useCommands } from "../controls/commands.mjs";
import { icon } from "../controls/icons.mjs";
import { usePopover } from "../controls/popover.mjs";
import { useActions } from "../state/actions.mjs";
import { nameModel } from "../words/format.mjs";
import { _, ngettext } from "../words/words.mjs";
import { connectModel } from "./connecting.mjs";
import { ModelList } from "./model-list.mjs";
import { keepChoice, keepSeveral, useKeptChoice, useSeveral } from "./settings.mjs";

const { Fragment, createElement: h } = window.React;

const SETTINGS = "settings"; // the list of actions that changes settings: components/panels/settings.py

/** @param {{data: import("../state/types.mjs").ComposerData}} props */
export function ModelPicker({ data }) {
  const { isOpen, setOpen, close, root, onKeyDown } = usePopover(data.thread);
  const choose = useModelChoice(data);
  const several = useSeveral(data.thread ?? null);
  const chooseSeveral = (names) => keepSeveral(data.thread ?? null, names);
  const { models = [], model = "", can_connect: canConnect } = data;
  const choices = () =>
    models.filter(({ problem }) => !problem)
      .map((each) => ({ name: each.name, detail: each.name === model ? _("in use") : "", run: () => choose(each) }));
  useCommands("ModelPicker", () => [
    { group: _("Actions"), name: _("Choose the model"), word: "model",
      offReason: models.length > 1 ? null : _("There is no other model."), choices },
    { group: _("Actions"), name: _("Ask several models at once"),
      offReason: models.length > 1 ? null : _("There is no other model."), run: () => setOpen("several") },
    ...(canConnect ? [{ group: _("Actions"), name: _("Connect a model"), word: "connect", run: connectModel }] : []),
  ]);
  const name = h("span", { className: "composer-model", title: model }, nameModel(model));
  if (models.length < 2) return data.demo ? null : name;
  const onChoose = (chosen) => (close(), choose(chosen));
  const label = h(Fragment, null,
    h("span", { className: "visually-hidden" }, _("Model: ")),
    h("span", { className: "composer-model" },
      several.length > 0 ? ngettext("{count} model", "{count} models", several.length) : nameModel(model)),
    icon("chevron-right", "model-arrow"));
  return h(
    "div",
    { className: "model-picker", ref: root, onKeyDown },
    button("text-button model-button", label, () => setOpen(!isOpen), {
      "data-testid": "model", title: `${_("Choose the model")} (${model})`, "aria-haspopup": "dialog",
      "aria-expanded": Boolean(isOpen),
    }),
    isOpen && h(ModelList, { models, current: model, usual: data.default, several, isSeveral: isOpen === "several",
      onChoose, onSeveral: chooseSeveral, onConnect: canConnect ? () => (close(), connectModel()) : null,
      onClose: close }),
  );
}

/**
 * Return a function that changes the model of the conversation, or of the one that the next message begins.
 * @param {import("../state/types.mjs").ComposerData} data
 */
function useModelChoice({ thread = null, default: usual, models }) {
  const act = useActions({ id: SETTINGS });
  const kept = useKeptChoice(thread);
  const hasGraphs = (models ?? []).some(({ graph }) => graph);
  return ({ name, demo, graph }) => {
    const choice = { model: name === usual || graph ? "" : name, ...(hasGraphs ? { graph } : {}) };
    if (thread === null) keepChoice({ choice: { ...kept?.choice, ...choice }, model: name, demo });
    else act("choose", { thread, choice });
    keepSeveral(thread, []);
  };
}
