/**
 * The conversations that the pane shows, portion by portion, in a list of which the page holds only what is in sight. Every
 * line, also a heading, is `--row` high.
 */
import { applyListData, fetchThreads, mergeThreads, noteListSeen } from "../state/thread-list.mjs";

const { createElement: h, useEffect, useLayoutEffect, useRef, useState, useCallback, useReducer } = window.React;

const TYPING_PAUSE_MS = 120;
const PORTION = 100; // as the server has it
const MAX_REFRESHED = 1000;
const NOTHING = { threads: [], more: false, seen: null };

/**
 * @typedef {{threads: import("../state/types.mjs").ThreadItem[], more: boolean, loadMore: () => void, isLoading?: boolean}}
 *   Portions
 * @param {import("../state/types.mjs").ThreadsData|undefined} data
 * @returns {Portions}
 */
export function useListedThreads(data) {
  const known = useRef({ data: null, list: NOTHING });
  const [, render] = useReducer((count) => count + 1, 0);
  if (data && known.current.data !== data) known.current = { data, list: applyListData(known.current.list, data) };
  const { seen } = known.current.list;
  useEffect(() => void noteListSeen(seen), [seen]);
  const add = useCallback(({ threads, more }) => {
    const { list } = known.current;
    known.current.list = { ...list, threads: mergeThreads(list.threads, threads), more };
    render();
  }, []);
  const loadMore = useLoadMore(() => known.current.list, "listed", "", add);
  return { ...known.current.list, loadMore };
}

/**
 * The conversations of the archive, or those whose titles contain the words of a text. Until a reply comes, those of the
 * text before are kept.
 * @param {string|null} view null: nothing is wanted
 * @param {string} text
 * @param {any} revision changes when they may have changed
 * @returns {Portions}
 */
export function useFilteredThreads(view, text, revision) {
  const [found, setFound] = useState({ ...NOTHING, key: null });
  const words = text.trim();
  const key = view && `${view} ${words}`;
  const latest = useRef(found);
  latest.current = found;
  useEffect(() => {
    if (view === null) return setFound({ ...NOTHING, key: null });
    const controller = new AbortController();
    const search = async () => {
      const { key: shownKey, threads } = latest.current;
      const limit = shownKey === key ? Math.min(MAX_REFRESHED, threads.length) : 0; // what is shown stays
      const reply = await fetchThreads({
        view,
        text: words,
        limit: limit > PORTION ? limit : undefined,
        signal: controller.signal,
      });
      if (!controller.signal.aborted) setFound({ ...NOTHING, ...reply, key });
    };
    const timer = setTimeout(search, words ? TYPING_PAUSE_MS : 0);
    return () => (clearTimeout(timer), controller.abort());
  }, [key, revision]);
  const add = useCallback(
    ({ threads, more }) => setFound((before) => ({ ...before, threads: mergeThreads(before.threads, threads), more })),
    [],
  );
  const loadMore = useLoadMore(() => latest.current, view, words, add);
  return { ...found, loadMore, isLoading: found.key !== key };
}

/** Load the next portion, one at a time. A portion of a list that has been replaced meanwhile is dropped. */
function useLoadMore(getList, view, text, add) {
  const isLoading = useRef(false);
  const latest = useRef({});
  latest.current = { getList, view, text };
  return useCallback(async () => {
    const { getList: get, view: shownView, text: shownText } = latest.current;
    const before = get();
    if (isLoading.current || !before.more) return;
    isLoading.current = true;
    const portion = await fetchThreads({ view: shownView, text: shownText, after: before.threads.at(-1) });
    isLoading.current = false;
    const isSame =
      latest.current.view === shownView &&
      latest.current.text === shownText &&
      get().threads.length >= before.threads.length;
    if (portion && isSame) add(portion);
  }, [add]);
}

const MAX_UNSEEN_ROWS = 10; // above and below what is in sight

/**
 * @typedef {{name: string, items: {id: string}[]}} ListGroup  under a heading
 * @param {{groups: ListGroup[], renderRow: (item: object, line: number) => any, keptId: string|null, more: boolean,
 *   onNearEnd: () => void}} props `keptId`: stays in the page wherever it is. The list's parent scrolls.
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
      return (at >= first && at <= last) || isKept(item) ? [renderRow(item, at)] : [];
    });
    const hasHeading = start >= first && start <= last;
    if (rows.length === 0 && !hasHeading) return null;
    return h(
      "section",
      { key: name, "aria-label": name },
      hasHeading && h("h3", { style: { "--line": start } }, name),
      h("ul", null, rows),
    );
  };
  const onFocus = ({ target }) => setFocusedId(target.closest("[data-thread-id]")?.dataset.threadId ?? null);
  return h(
    "div",
    { ref: list, className: "virtual-list", style: { "--lines": count }, onFocus, onKeyDown: stepThrough },
    groups.map(section),
  );
}

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
