/** The dialog that gives conversations tags: existing ones are completed, and a new one is typed. */
import { ReadingDialog } from "../lib/dialog.mjs";
import { icon } from "../lib/icons.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useEffect, useId, useRef, useState } = window.React;

const MAX_TAG_CHARS = 50; // checkpoints/values/limits.py, as the next one
const MAX_TAGS = 20; // of one conversation

loadStyle(new URL("./tags.lazy.css", import.meta.url));

/**
 * @typedef {"all"|"some"|"none"} Share  of the chosen conversations that have a tag
 * @typedef {{name: string, before: Share, now: Share, isMade?: boolean}} TagLine
 * @param {{title: string, names: import("./tags.mjs").TagNames, counts: Map<string, number>, total: number,
 *   onSave: (change: {add: string[], remove: string[]}) => void, onClose: () => void}} props
 */
export function TagPicker({ title, names, counts, total, onSave, onClose }) {
  const id = useId();
  const [lines, setLines] = useState(() => listLines(names, counts, total));
  const isFull = lines.filter(({ now }) => now === "all").length > MAX_TAGS;
  const save = () => {
    if (isFull) return;
    onClose();
    const change = describeChange(lines);
    if (change.add.length + change.remove.length > 0) onSave(change);
  };
  const buttons = h("button", { type: "button", className: "btn btn-primary", disabled: isFull, onClick: save }, _("Save"));
  return h(
    ReadingDialog,
    { title, size: "md", className: "tag-picker", buttons, onClose },
    h(TagField, { id, lines, setLines, onSave: save }),
    h(
      "p",
      { className: "quiet", role: "status" },
      isFull
        ? _("A conversation has at most {limit} tags.", { limit: MAX_TAGS })
        : _("Press Enter to add a tag, or in the empty field to save."),
    ),
  );
}

/** The tags that conversations have come first. @returns {TagLine[]} */
function listLines(names, counts, total) {
  const lines = Array.from(names, ([tag, name]) => {
    const count = counts.get(tag);
    /** @type {Share} */
    const share = count === 0 ? "none" : count === total ? "all" : "some";
    return { name, before: share, now: share };
  });
  return [...lines.filter(({ now }) => now !== "none"), ...lines.filter(({ now }) => now === "none")];
}

/** Add a new tag below those that conversations have, in the order of typing. */
function addLine(lines, name) {
  const isFirst = ({ before, isMade }) => before !== "none" || isMade;
  return [
    ...lines.filter(isFirst),
    { name, before: "none", now: "all", isMade: true },
    ...lines.filter((line) => !isFirst(line)),
  ];
}

/** @param {TagLine[]} lines */
function describeChange(lines) {
  const pick = (share) => lines.filter(({ before, now }) => now === share && before !== share).map(({ name }) => name);
  return { add: pick("all"), remove: pick("none") };
}

/** What the server takes for the same name, too. */
const fold = (name) => name.normalize("NFKC").toLowerCase().trim().replace(/\s+/g, " ");

/** The field with the list below it. */
function TagField({ id, lines, setLines, onSave }) {
  const field = useRef(null);
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(-1);
  const options = listOptions(lines, text);
  useEffect(() => field.current.focus(), []); // after the dialog has taken the focus
  useEffect(() => {
    document.getElementById(`${id}-${selected}`)?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  const type = (typed) => (setText(typed), setSelected(typed.trim() ? 0 : -1));
  const toggle = ({ name, isNew }) => {
    const flip = (line) => (line.name === name ? { ...line, now: line.now === "all" ? "none" : "all" } : line);
    setLines(isNew ? addLine(lines, name) : lines.map(flip));
    if (text) type("");
    field.current.focus();
  };
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step && event.key !== "Enter") return;
    event.preventDefault();
    if (step) setSelected(options.length > 0
      ? (Math.max(selected, step > 0 ? -1 : 0) + step + options.length) % options.length : -1);
    else if (selected >= 0) toggle(options[selected]);
    else onSave();
  };
  const names = { placeholder: _("Find or add a tag"), "aria-label": _("Find or add a tag"), "aria-expanded": true,
    dir: "auto", "aria-controls": `${id}-list`, "aria-activedescendant": selected >= 0 ? `${id}-${selected}` : undefined };
  return [
    h("input", { key: "field", ref: field, type: "text", role: "combobox", className: "form-control", value: text,
      maxLength: MAX_TAG_CHARS, autoComplete: "off", ...names, onChange: (event) => type(event.target.value), onKeyDown }),
    h(
      "div",
      // the field keeps the focus
      { key: "list", id: `${id}-list`, role: "listbox", tabIndex: -1, "aria-label": _("Tags"), "aria-multiselectable": true,
        onMouseDown: (event) => event.preventDefault() },
      options.map((option, index) =>
        h(TagOption, { key: option.name, id: `${id}-${index}`, option, isActive: index === selected, onToggle: toggle })),
    ),
  ];
}

/** List the tags that contain the typed text, and last the text as a new tag. */
function listOptions(lines, text) {
  const wanted = fold(text);
  const matching = lines.filter(({ name }) => fold(name).includes(wanted));
  const exact = matching.filter(({ name }) => fold(name) === wanted);
  const others = matching.filter((line) => !exact.includes(line));
  const made = wanted && exact.length === 0 ? [{ name: text.trim().replace(/\s+/g, " "), now: "none", isNew: true }] : [];
  return [...exact, ...others, ...made];
}

function TagOption({ id, option, isActive, onToggle }) {
  const { name, now, isNew } = option;
  return h(
    "div",
    {
      id, role: "option", "aria-selected": now === "all", "data-active": isActive || undefined,
      onClick: () => onToggle(option),
    },
    h("span", { className: "tag-sign" }, isNew ? icon("plus-lg") : now === "all" && icon("check-lg")),
    h("span", { className: "tag-name", dir: "auto" }, isNew ? _("Add “{name}”", { name }) : name),
    now === "some" && h("span", { className: "quiet" }, _("on some")),
  );
}
