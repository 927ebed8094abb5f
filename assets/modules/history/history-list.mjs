/** The rows of History. Only those in view are in the page. */
import { readOption } from "../browser/page-options.mjs";
import { button } from "../controls/buttons.mjs";
import { icon } from "../controls/icons.mjs";
import { useNow } from "../words/clock.mjs";
import { _ } from "../words/words.mjs";
import { Graph, measureLanes } from "./graph.mjs";
import { HistoryRow } from "./history-row.mjs";
import { findNeighbour } from "./layout.mjs";

const { Fragment, createElement: h, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

const STEP_ROWS = 10; // the rows in the page change by as many
const MARGIN_ROWS = 20; // above and below those in view
const SETTLED_MS = 150; // without another jump
const LARGE_ROWS = "(pointer: coarse), (width < 64em)";
const ROW_REMS = { large: 2.75, small: 1.875 };

/**
 * @param {{layout: import("./layout.mjs").HistoryLayout, data: import("../state/types.mjs").HistoryData,
 *   selection: {selected: string|null, select: Function}, onPress: (row: import("./layout.mjs").HistoryRow) => void,
 *   onKey: (key: string, row: import("./layout.mjs").HistoryRow) => boolean, children?: any, before?: any}} props
 */
export function HistoryList({ layout, data, selection, onPress, onKey, children, before }) {
  const scroll = useRef(null);
  const { rows } = layout;
  const height = useRowHeight();
  const { view, measure } = useView(scroll, height, rows.length);
  const now = useNow();
  const maxTokens = useMemo(() => rows.reduce((most, { tokens }) => Math.max(most, tokens ?? 0), 0), [rows]);
  const selected = layout.numbers.get(selection.selected ?? "") ?? -1;
  const { here } = layout;
  const focused = selected >= 0 ? selected : here >= 0 ? here : rows.length - 1;
  const { reveal, goHere } = useReveal(scroll, height, measure,
    { thread: data.thread, here, selected, selectedKey: selection.selected, rows });
  const { first, end, shown } = chooseRows(rows, view, focused);
  const onKeyDown = useKeys(layout, selection, { reveal, scroll, onKey });
  const { width } = measureLanes(layout);
  return h(
    "div",
    { className: "history-rows" },
    h(
      "div",
      { className: "history-scroll", ref: scroll, role: "region", "aria-label": _("Checkpoints"), onKeyDown },
      before,
      h(
        "div",
        { className: "graph-area", style: { height: `${rows.length * height}px`, "--graph-width": `${width}px` } },
        h(Graph, { layout, first, end, height }),
        h("ol", { className: "track" },
          shown.map((number) =>
            h(HistoryRow, {
              key: rows[number].key, row: rows[number], number, count: rows.length, height, now, maxTokens, onPress,
              isSelected: number === selected, isTabStop: number === focused, hasBranches: data.branch_count > 1,
            }),
          ),
        ),
      ),
      children,
    ),
    here >= 0 && h(HereButton, { isAbove: here < view.top, isBelow: here >= view.bottom, onClick: goHere }),
  );
}

/** Choose the rows that are in the page: `first` to before `end`, and the one that has the focus. */
function chooseRows(rows, view, focused) {
  const [first, end] = [Math.min(view.first, rows.length), Math.min(Math.max(view.first, view.end), rows.length)];
  const inView = Array.from({ length: end - first }, (_, place) => first + place);
  const shown = [...new Set([...inView, focused])].filter((number) => rows[number]).sort((one, other) => one - other);
  return { first, end, shown };
}

/** Bring the current position back into view. It lies over the rows: no key that leaves the position adds an element. */
function HereButton({ isAbove, isBelow, onClick }) {
  const direction = isAbove ? " above" : isBelow ? " below" : "";
  const label = h(Fragment, null, icon("arrow-down"), _("You are here"));
  return button(`quiet-button here-button${direction}`, label, onClick, { tabIndex: -1 });
}

/** @returns {number} pixels of a row */
function useRowHeight() {
  const measure = () =>
    parseFloat(getComputedStyle(document.documentElement).fontSize) *
    (matchMedia(LARGE_ROWS).matches ? ROW_REMS.large : ROW_REMS.small);
  const [height, setHeight] = useState(measure);
  useEffect(() => {
    const media = matchMedia(LARGE_ROWS);
    const onChange = () => setHeight(measure());
    media.addEventListener("change", onChange);
    return () => media.removeEventListener("change", onChange);
  }, []);
  return height;
}

/**
 * Follow the rows in view: `top` to `bottom`, and those that are in the page, `first` to `end`. After a jump these are the
 * rows in view alone, which are there sooner; the others follow when no other jump does.
 */
function useView(scroll, height, count) {
  const [view, setView] = useState({ top: 0, bottom: STEP_ROWS, first: 0, end: MARGIN_ROWS * 3 });
  const latest = useRef(view);
  const settling = useRef(0);
  const measure = useCallback((isSettled = false) => {
    const { first, end } = latest.current;
    const inView = findRowsInView(scroll.current, height);
    const isJump = inView.top >= end || inView.bottom <= first || (settling.current !== 0 && isSettled !== true);
    clearTimeout(settling.current);
    settling.current = isJump ? setTimeout(measure, SETTLED_MS, true) : 0;
    const now = { ...inView, ...(isJump ? chooseAfterJump(inView, latest.current) : addMargins(inView)) };
    if (Object.keys(now).every((name) => latest.current[name] === now[name])) return;
    latest.current = now;
    setView(now);
  }, [height]);
  useLayoutEffect(() => measure(), [measure, count]);
  useEffect(() => {
    const element = scroll.current;
    const sizes = new ResizeObserver(() => measure());
    const onScroll = () => measure();
    sizes.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => (clearTimeout(settling.current), sizes.disconnect(), element.removeEventListener("scroll", onScroll));
  }, [measure]);
  return { view, measure };
}

function findRowsInView(element, height) {
  const above = element.scrollTop - (element.querySelector(".graph-area").offsetTop - element.offsetTop);
  const rows = (pixels) => Math.max(0, pixels / height); // the rows can lie below what is in view
  return { top: Math.floor(rows(above)), bottom: Math.ceil(rows(above + element.clientHeight)) };
}

/** Choose the rows in view, or those that are in the page, if they are among these: a card that grew hides some. */
const chooseAfterJump = ({ top, bottom }, { first, end }) =>
  first <= top && bottom <= end ? { first, end } : { first: top, end: bottom };

const addMargins = ({ top, bottom }) => ({
  first: Math.max(0, Math.floor(top / STEP_ROWS) * STEP_ROWS - MARGIN_ROWS),
  end: Math.ceil(bottom / STEP_ROWS) * STEP_ROWS + MARGIN_ROWS,
});

/**
 * Keep the current position and the selected place in view. A person who has gone from the selected place to the current one
 * stays there: rows that come later, or a card that grows, do not take them away.
 * @returns {{reveal: (number: number) => void, goHere: () => void}}
 */
function useReveal(scroll, height, measure, { thread, here, selected, selectedKey, rows }) {
  const left = useRef(null); // the selected place that the person went away from
  const shown = useRef(null); // where `goHere` scrolled to, until somebody scrolls on
  const reveal = useCallback((number) => {
    const element = scroll.current;
    const offset = element.querySelector(".graph-area").offsetTop - element.offsetTop;
    const [top, bottom] = [offset + number * height, offset + (number + 1) * height];
    if (top < element.scrollTop) element.scrollTop = top - offset;
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom + offset - element.clientHeight;
    measure(); // the events of scrolling and of a card's other height would come after the next paint
  }, [height, measure]);
  const goHere = () => {
    left.current = selectedKey;
    reveal(here);
    shown.current = scroll.current.scrollTop;
  };
  const hereKey = rows[here] && `${thread} ${here} ${rows[here].messages}`;
  useLayoutEffect(() => {
    if (here >= 0) reveal(here);
  }, [hereKey, reveal]);
  useLayoutEffect(() => {
    if (selectedKey !== left.current) left.current = null;
    if (selected >= 0 && left.current === null) reveal(selected);
  }, [rows[selected]?.key, selectedKey, reveal]);
  useEffect(() => {
    const sizes = new ResizeObserver(() => {
      if (here < 0 || shown.current !== scroll.current.scrollTop) return;
      reveal(here);
      shown.current = scroll.current.scrollTop;
    });
    sizes.observe(scroll.current);
    return () => sizes.disconnect();
  }, [here, reveal]);
  return { reveal, goHere };
}

/** Walk the rows by keys. The focus stays on the selected row. */
function useKeys(layout, selection, { reveal, scroll, onKey }) {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".place") === null) return;
    const { key } = event.target.closest(".place").dataset;
    const number = layout.numbers.get(key);
    if (number === undefined || (event.key.length === 1 && !readOption("single-keys"))) return;
    const next = findNeighbour(layout, number, event.key);
    if (next === null && !onKey(event.key, layout.rows[number])) return;
    event.preventDefault();
    if (next === null || next < 0) return;
    event.target.blur(); // a jump removes its row: the browser would lay out the page between the old rows and the new ones
    flushSync(() => {
      reveal(next); // first: the rows in view and the selected one are then rendered at once
      selection.select(layout.rows[next].key);
    });
    scroll.current.querySelector(".place.selected .place-jump")?.focus({ preventScroll: true });
  };
}
