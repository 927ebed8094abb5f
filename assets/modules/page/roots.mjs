/**
 * The panels in the first HTML. Each has a React root of its own, which shows the first layout before Dash's scripts are
 * there, and stays. Dash's component of the panel renders nothing: it passes its properties on.
 */
const { createElement: h, useLayoutEffect, useRef } = window.React;
const { createRoot, flushSync } = window.ReactDOM;

/** @type {Map<string, {render: Function}>} the roots by the name of their component */
const roots = new Map();

const findElement = (name) => document.querySelector(`[data-root="${name}"]`);

/** @param {string} name of the component @param {Function} Panel @returns {Function} Dash's component */
export function inOwnRoot(name, Panel) {
  return function Forwarder(props) {
    const { id, data, reply } = props;
    const isShown = useRef(roots.has(name)); // with the layout that Dash shows first
    useLayoutEffect(() => {
      if (!isShown.current) render(name, Panel, props);
      isShown.current = false;
    }, [id, data, reply]);
    return null;
  };
}

/**
 * Show panels with the properties of the layout that Dash will show, unless Dash has.
 * @param {Object<string, Function>} panels components by their names
 * @param {object} layout as Dash receives it
 */
export function showLayout(panels, layout) {
  const components = listComponents(layout);
  for (const { props } of components) showInSlot(props);
  const shown = components.filter(({ type, namespace }) => namespace === "waymark" && type in panels && !roots.has(type));
  flushSync(() => shown.forEach(({ type, props }) => render(type, panels[type], props)));
}

/** Show data in the first HTML of the bars, until Dash takes their places. */
function showInSlot({ id, children, disabled = false, hidden = false }) {
  const element = id && document.querySelector(`[data-slot][inert] [id="${id}"]`);
  if (!element) return;
  Object.assign(element, { disabled, hidden });
  if (typeof children === "string") element.textContent = children;
}

const listComponents = (part) => {
  if (Array.isArray(part)) return part.flatMap(listComponents);
  return part?.props ? [part, ...listComponents(part.props.children)] : [];
};

function render(name, Panel, props) {
  const container = findElement(name);
  const field = roots.has(name) ? null : readField(container);
  if (!roots.has(name)) roots.set(name, createRoot(container));
  roots.get(name).render(h(Rooted, { Panel, props, onShown: () => field && restoreField(container, field) }));
}

function Rooted({ Panel, props, onShown }) {
  useLayoutEffect(onShown, []);
  return h(Panel, props);
}

/** Read the message field of the first HTML, which works without modules (early-field.js). */
function readField(container) {
  const area = container.querySelector("textarea");
  return (
    area && {
      text: area.value,
      selection: [area.selectionStart, area.selectionEnd],
      isFocused: area === document.activeElement,
    }
  );
}

/** Give the text, the focus and the caret to the field that has replaced it, which may begin with a text of its own. */
function restoreField(container, { text, selection, isFocused }) {
  const area = container.querySelector("textarea");
  if (!area.value.endsWith(text)) {
    area.value = [area.value, text].filter(Boolean).join("\n\n");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
  if (!isFocused) return;
  const start = area.value.length - text.length;
  area.focus();
  area.setSelectionRange(...selection.map((place) => start + place));
}
