/** A list of which the page holds only what is in sight. Every line, also a heading, is `--row` high. */
const { createElement: h, useEffect, useLayoutEffect, useRef, useState } = window.React;

const MAX_UNSEEN_ROWS = 10; // above and below what is in sight

/**
 * @typedef {{name: string, items: {id: string}[]}} ListGroup  under a heading
 * @param {{groups: ListGroup[], renderRow: (item: object, place: {index: number, style: object}) => any,
 *   keptId: string|null, more: boolean, onNearEnd: () => void}} props `keptId`: stays in the page wherever it is. The list's
 *   parent scrolls.
 */
export function VirtualList({ groups, renderRow, keptId, more, onNearEnd }) {
  const list = useRef(null);
  const count = groups.reduce((sum, { items }) => sum + items.length + 1, 0);
  const [focusedId, setFocusedId] = useState(null);
  const { first, last } = useRange(list, count);
  useEffect(() => {
    if (more && last >= count - 1) onNearEnd();
  }, [more, last, count, onNearEnd]);
  const isKept = ({ id }) => id === keptId || id === focusedId;
  let line = 0;
  const section = ({ name, items }) => {
    const start = line;
    line += items.length + 1;
    const rows = items.flatMap((item, index) => {
      const at = start + 1 + index;
      return (at >= first && at <= last) || isKept(item) ? [renderRow(item, { index: at, style: placeAt(at) })] : [];
    });
    const hasHeading = start >= first && start <= last;
    if (rows.length === 0 && !hasHeading) return null;
    return h(
      "section",
      { key: name, "aria-label": name },
      hasHeading && h("h3", { style: placeAt(start) }, name),
      h("ul", null, rows),
    );
  };
  const onFocus = ({ target }) => setFocusedId(target.closest("[data-thread-id]")?.dataset.threadId ?? null);
  return h(
    "div",
    {
      ref: list, className: "virtual-list", style: { height: `calc(var(--row) * ${count})` }, onFocus,
      onKeyDown: stepThrough,
    },
    groups.map(section),
  );
}

const placeAt = (line) => ({ top: `calc(var(--row) * ${line})` });

/** @returns {{first: number, last: number}} the lines that are in sight, and some around them */
function useRange(list, count) {
  const [range, setRange] = useState({ first: 0, last: 3 * MAX_UNSEEN_ROWS });
  useLayoutEffect(() => {
    const view = list.current.parentElement;
    const measure = () => {
      const row = list.current.offsetHeight / Math.max(1, count);
      if (!row) return;
      const above = view.getBoundingClientRect().top - list.current.getBoundingClientRect().top;
      const top = Math.floor(above / row / MAX_UNSEEN_ROWS) * MAX_UNSEEN_ROWS; // in steps: not every pixel is a rendering
      const seen = Math.ceil(view.clientHeight / row);
      const next = { first: top - MAX_UNSEEN_ROWS, last: top + seen + 2 * MAX_UNSEEN_ROWS };
      setRange((before) => (before.first === next.first && before.last === next.last ? before : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(view);
    view.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      view.removeEventListener("scroll", measure);
    };
  }, [count]);
  return range;
}

/** Arrow keys go from row to row. */
function stepThrough(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const row = event.target.closest("[data-index]");
  if (!step || !row || event.target.matches("input[type=text], [role=menuitem]")) return;
  const links = [...event.currentTarget.querySelectorAll("[data-index]")].sort(
    (one, other) => one.dataset.index - other.dataset.index,
  );
  const next = links[links.indexOf(row) + step];
  if (!next) return;
  event.preventDefault();
  next.querySelector("a, input")?.focus();
}
