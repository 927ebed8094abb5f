/** A field, and the lines below it that its text finds. */
const { Fragment, createElement: h, useEffect, useId, useRef, useState } = window.React;

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/**
 * Choose a line by the arrow keys and Enter, or by a click. The field keeps the focus.
 * @template {{group: string}} L
 * @param {{name: string, listName?: string, isMultiple?: boolean, lines: L[], onText: (text: string) => void,
 *   onChoose: (line: L) => void, describe: (line: L) => object}} props `describe`: the properties of a line's element, with
 *   its children
 */
export function Combobox({ name, listName = name, isMultiple, lines, onText, onChoose, describe }) {
  const id = useId();
  const list = useRef(null);
  const [position, setPosition] = useState(0);
  const selected = Math.min(position, lines.length - 1);
  useEffect(() => {
    list.current.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selected, lines.length]);
  const onChange = ({ target }) => (setPosition(0), onText(target.value));
  const onKeyDown = (event) => {
    const step = STEPS[event.key];
    if ((!step && event.key !== "Enter") || lines.length === 0) return;
    event.preventDefault();
    if (step) setPosition((selected + step + lines.length) % lines.length);
    else onChoose(lines[selected]);
  };
  const option = (line, index) =>
    h("div", { key: index, id: `${id}-${index}`, role: "option", className: "option", "aria-selected": index === selected,
      onClick: () => onChoose(line), ...describe(line) });
  const group = (group) => {
    const options = lines.map((line, index) => line.group === group && option(line, index));
    return h("div", { key: group, role: "group", "aria-label": group },
      h("div", { className: "option-group", "aria-hidden": true }, group), options);
  };
  return h(
    Fragment,
    null,
    h("input", {
      type: "text", role: "combobox", className: "form-control", placeholder: name, "aria-label": name,
      "aria-expanded": lines.length > 0, "aria-controls": `${id}-list`,
      "aria-activedescendant": lines.length > 0 ? `${id}-${selected}` : undefined,
      autoComplete: "off", autoFocus: true, onChange, onKeyDown,
    }),
    h("div", { id: `${id}-list`, ref: list, role: "listbox", tabIndex: -1, "aria-label": listName,
      "aria-multiselectable": isMultiple || undefined, onMouseDown: (event) => event.preventDefault() },
    [...new Set(lines.map(({ group }) => group))].map(group)),
  );
}
