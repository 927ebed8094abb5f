/** The conversations that the pane shows: the list of the page's data, or those of a filter. Further portions on demand. */
import { applyListData, fetchThreads, mergeThreads, noteListSeen } from "../lib/thread-list.mjs";

const { useCallback, useEffect, useReducer, useRef, useState } = window.React;

const TYPING_PAUSE_MS = 120;
const PORTION = 100; // as the server has it
const MAX_REFRESHED = 1000;
const NOTHING = { threads: [], more: false, seen: null };

/**
 * @typedef {{threads: import("../lib/types.mjs").ThreadItem[], more: boolean, loadMore: () => void, isLoading?: boolean}}
 *   Portions
 * @param {import("../lib/types.mjs").ThreadsData|undefined} data
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
