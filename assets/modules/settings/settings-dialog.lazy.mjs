/** The dialog for the settings of one conversation: the model, the instructions, and whether the agent may go back. */
import { FormDialog } from "../lib/dialog.mjs";
import { icon } from "../lib/icons.mjs";
import { LANGUAGES, chooseLanguage, readLanguageChoice } from "../lib/language.lazy.mjs";
import { nameModelAmong } from "../lib/model-names.mjs";
import { NOTIFY, switchNotifications } from "../lib/notices.mjs";
import { usePageOption } from "../lib/page-options.mjs";
import { useRequest } from "../lib/tracked-request.mjs";
import { LANGUAGE, _ } from "../lib/words.mjs";

const { createElement: h, useId, useState } = window.React;

const NO_REPLY_TEXT = _("Not saved yet: the server does not answer. Your changes are kept here.");
const NUMBER_FIELDS = [
  ["temperature", _("Temperature"), "any"],
  ["top_p", _("Top P"), "any"],
  ["max_tokens", _("Longest answer (tokens)"), 1],
];
const POLICIES = {
  ask: [_("Ask me"), _("Each move waits until you allow it.")],
  allow: [_("Allow"), _("It goes back by itself; you can undo each move.")],
  off: [_("Never"), _("The agent cannot go back in this conversation.")],
};

/**
 * @typedef {{title: string, data: import("../lib/types.mjs").SettingsData,
 *   keptChoice: import("../lib/types.mjs").KeptChoice|null,
 *   keepChoice: (next: import("../lib/types.mjs").KeptChoice|null) => void, reply?: import("../lib/types.mjs").Reply &
 *   {choice?: import("../lib/types.mjs").Choice}, act: Function, onClose: () => void}} Props
 * @param {Props} props
 */
export function SettingsDialog({ title, onClose, ...props }) {
  const id = useId();
  const { choice, change, isSaving, problem, onSubmit } = useSettingsForm({ ...props, onClose });
  const { data } = props;
  const buttons = h("button", { type: "submit", className: "btn btn-primary", "aria-disabled": isSaving }, _("Save"));
  return h(
    FormDialog,
    { title, form: { onSubmit }, buttons, onClose },
    choice.graph
      ? h("p", null,
          _("The graph {graph} answers here. It has a model and instructions of its own.", { graph: choice.graph }))
      : h(AgentFields, { id, data, choice, change }),
    h(LanguageField, { id: `${id}-language` }),
    h(MarkdownOption),
    h(SingleKeysOption),
    h(NotificationOption),
    problem && h("p", { className: "settings-problem", role: "alert" }, problem),
  );
}

/** The fields for the built-in agent. */
function AgentFields({ id, data, choice, change }) {
  return h(
    "fieldset",
    { disabled: data.read_only !== null },
    h(ModelField, { id: `${id}-model`, data, value: choice.model, onChange: change("model") }),
    h(InstructionsField, {
      id: `${id}-instructions`, longest: data.max_chars.instructions, value: choice.instructions,
      onChange: change("instructions"),
    }),
    h(ParameterFields, { id, data, choice, change }),
    h(PolicyField, {
      name: `${id}-policy`, general: data.time_travel, value: choice.time_travel, onChange: change("time_travel"),
    }),
    h("p", { className: "quiet" }, data.read_only ?? _("Takes effect from the next answer.")),
  );
}

/** Edit and save the settings. @param {Omit<Props, "title">} props */
function useSettingsForm({ data, keptChoice, keepChoice, reply, act, onClose }) {
  const [loaded, setLoaded] = useState(data.choice);
  const [choice, setChoice] = useState({ ...data.choice, ...(data.thread === null ? keptChoice?.choice : {}) });
  const [problem, setProblem] = useState(null);
  /** @param {{content: string, kept?: import("../lib/types.mjs").KeptChoice, request_id: string}} request */
  const onReply = ({ kept }, { ok, text, choice: saved }) => {
    if (ok && kept !== undefined) keepChoice(kept);
    if (ok) onClose();
    else setProblem(text);
    if (saved) setLoaded(saved);
  };
  const { pending, isLate, start } = useRequest({ reply, onReply, onLate: () => setProblem(NO_REPLY_TEXT) });

  const save = (fields, kept) => {
    const content = JSON.stringify(fields);
    setProblem(null);
    start({ content, kept, request_id: act("save", fields, pending?.content === content ? pending.request_id : undefined) });
  };
  const onSubmit = (event) => {
    event.preventDefault();
    if (pending !== null && !isLate) return;
    const changed = Object.keys(loaded).filter((part) => choice[part].trim() !== loaded[part]);
    const pickChanged = (values) => Object.fromEntries(changed.map((part) => [part, values[part]]));
    if (changed.length > 0) {
      const kept = data.thread === null ? { choice: pickChanged(choice), ...describeModel(data, choice) } : undefined;
      save({ thread: data.thread, choice: pickChanged(choice), seen: pickChanged(loaded) }, kept);
      return;
    }
    if (data.thread === null) keepChoice(null);
    onClose();
  };
  const change = (part) => (event) => setChoice({ ...choice, [part]: event.target.value });
  return { choice, change, isSaving: pending !== null && !isLate, problem, onSubmit };
}

/** Return the name and demo text of a model, or the name of a graph. Without a name it is the default. */
function describeModel(data, { model, graph }) {
  const name = data.models.find((each) => graph && each.graph === graph)?.name ?? (model || data.default);
  return { model: name, demo: data.models.find((each) => each.name === name)?.demo ?? null };
}

function ModelField({ id, data, value, onChange }) {
  const others = data.models.filter(({ name, graph }) => name !== data.default && !graph);
  const isGone = value !== "" && !data.models.some(({ name }) => name === value);
  const nameOf = (spec) => nameModelAmong(spec, data.models.map(({ name }) => name));
  return [
    h("label", { key: "label", className: "form-label", htmlFor: id }, _("Model")),
    h(
      "select",
      {
        key: "field", id, className: "form-select", value: value === data.default ? "" : value, onChange,
        "aria-describedby": isGone ? `${id}-gone` : undefined,
      },
      h("option", { value: "" }, _("{value} (default)", { value: nameOf(data.default) })),
      others.map(({ name }) => h("option", { key: name, value: name }, nameOf(name))),
      isGone && h("option", { value }, _("{value} (no longer offered)", { value: nameOf(value) })),
    ),
    isGone &&
      h(
        "p",
        { key: "gone", id: `${id}-gone`, className: "settings-problem" },
        _("This model can no longer be used. Choose another."),
      ),
  ];
}

function InstructionsField({ id, longest, value, onChange }) {
  return [
    h("label", { key: "label", className: "form-label", htmlFor: id }, _("Instructions")),
    h("textarea", {
      key: "field", id, className: "form-control",
      dir: "auto",
      rows: 5,
      maxLength: longest,
      value,
      onChange,
      placeholder: _("For example: Answer in French."),
      "aria-describedby": `${id}-about`,
    }),
    h(
      "p",
      { key: "about", id: `${id}-about`, className: "quiet settings-about" },
      h("span", null, _("Sent with every request in this conversation.")),
      h("span", null, `${value.length.toLocaleString(LANGUAGE)} / ${longest.toLocaleString(LANGUAGE)}`),
    ),
  ];
}

/** The parameters of the model, folded: few conversations have their own. */
function ParameterFields({ id, data, choice, change }) {
  // As the dialog opened: a fold that followed the values would close while a field is emptied.
  const [wasChosen] = useState(() =>
    [...NUMBER_FIELDS.map(([part]) => part), "reasoning_effort", "extra_body"].some((part) => choice[part] !== ""));
  return h(
    "details",
    { className: "fold settings-parameters", open: wasChosen || undefined },
    h("summary", { className: "form-label" }, icon("chevron-right", "fold-arrow"), _("Model parameters")),
    h("p", { className: "quiet" }, _("An empty field leaves the choice to the settings of the app and to the provider.")),
    NUMBER_FIELDS.map(([part, label, step]) => [
      h("label", { key: `${part}-label`, className: "form-label", htmlFor: `${id}-${part}` }, label),
      h("input", { key: part, id: `${id}-${part}`, className: "form-control", type: "number", step, ...data.ranges[part],
        placeholder: data.defaults[part], value: choice[part], onChange: change(part) }),
    ]),
    h("label", { className: "form-label", htmlFor: `${id}-effort` }, _("Reasoning effort")),
    h(
      "select",
      { id: `${id}-effort`, className: "form-select", value: choice.reasoning_effort, onChange: change("reasoning_effort") },
      h("option", { value: "" },
        data.defaults.reasoning_effort ? _("{value} (default)", { value: data.defaults.reasoning_effort }) : _("default")),
      data.efforts.map((effort) => h("option", { key: effort, value: effort }, effort)),
    ),
    h("label", { className: "form-label", htmlFor: `${id}-body` }, _("Extra body (JSON)")),
    h("textarea", {
      id: `${id}-body`,
      className: "form-control",
      rows: 2,
      maxLength: data.max_chars.extra_body,
      value: choice.extra_body,
      onChange: change("extra_body"),
      placeholder: data.defaults.extra_body ?? '{"seed": 7}',
    }),
  );
}

function PolicyField({ name, general, value, onChange }) {
  const possible = general === "off" ? [] : Object.entries(POLICIES);
  return h(
    "fieldset",
    null,
    h("legend", { className: "form-label" }, _("Agent may go back")),
    general === "off" && h("p", { className: "quiet" }, _("Going back is switched off for all conversations.")),
    possible.map(([policy, [label, about]]) =>
      h(
        "label",
        { key: policy, className: "settings-policy" },
        h("input", {
          type: "radio",
          className: "form-check-input",
          name,
          value: policy,
          checked: (value || general) === policy,
          onChange,
        }),
        h("span", null, label, h("span", { className: "quiet" }, about)),
      ),
    ),
  );
}

/** The language of the page, of this browser alone. A choice loads the page again; what was changed here is not saved. */
function LanguageField({ id }) {
  return [
    h("label", { key: "label", className: "form-label", htmlFor: id }, _("Language")),
    h(
      "select",
      {
        key: "field", id, className: "form-select", value: readLanguageChoice(),
        onChange: (event) => chooseLanguage(event.target.value),
      },
      h("option", { value: "" }, _("System")),
      Object.entries(LANGUAGES).map(([tag, name]) => h("option", { key: tag, value: tag, lang: tag }, name)),
    ),
  ];
}

/** An option of this browser for all conversations. It takes effect at once. */
function MarkdownOption() {
  const [isOn, setOn] = usePageOption("markdown-questions");
  return h(
    "label",
    { className: "settings-policy" },
    h("input", {
      type: "checkbox",
      className: "form-check-input",
      checked: isOn,
      onChange: (event) => setOn(event.target.checked),
    }),
    h(
      "span",
      null,
      _("Show my questions as Markdown"),
      h("span", { className: "quiet" }, _("In this browser, in all conversations.")),
    ),
  );
}

/** Single keys are in the way of people who talk to their computer, or press a key by chance. */
function SingleKeysOption() {
  const [isOn, setOn] = usePageOption("single-keys");
  return h(
    "label",
    { className: "settings-policy" },
    h("input", {
      type: "checkbox",
      className: "form-check-input",
      checked: isOn,
      onChange: (event) => setOn(event.target.checked),
    }),
    h(
      "span",
      null,
      _("Single keys"),
      h("span", { className: "quiet" }, _("? shows the keys, and letters act on the places of History. In this browser.")),
    ),
  );
}

/** The browser asks for its permission when this is switched on, and only then. */
function NotificationOption() {
  const [isOn] = usePageOption(NOTIFY);
  const [isRefused, setRefused] = useState(false);
  const change = async (event) => setRefused(!(await switchNotifications(event.target.checked)));
  return h(
    "label",
    { className: "settings-policy" },
    h("input", { type: "checkbox", className: "form-check-input", checked: isOn, onChange: change }),
    h(
      "span",
      null,
      _("Notify me in the background when an answer ends or a permission is needed"),
      h(
        "span",
        { className: "quiet", role: "status" },
        isRefused
          ? _("The browser does not allow notifications of this page.")
          : _("In this browser. A notification shows the title of the conversation only."),
      ),
    ),
  );
}
