/** Several conversations at once: which are selected, and what can be done with them. */
import { showToast } from "../controls/toast.mjs";
import { isFocusUnclaimed } from "../page/lost-focus.mjs";
import { fetchThreads } from "../state/thread-list.mjs";
import { LANGUAGE, _ } from "../words/words.mjs";

const { createElement: h, useCallback, useEffect, useLayoutEffect, useRef, useState } = window.React;

/**
 * Hold the id of the item whose name is being edited. Afterwards its element gets the focus, unless that is elsewhere.
 * @param {(id: string) => HTMLElement|null|undefined} find the element of an item
 * @returns {[string|null, (id: string|null) => void]}
 */
export function useRenamed(find) {
  const [id, setId] = useState(null);
  const last = useRef(null);
  useEffect(() => {
    if (id === null && last.current !== null && isFocusUnclaimed()) find(last.current)?.focus();
    last.current = id;
  }, [id]);
  return [id, setId];
}

const PORTION = 100; // of the list
const MAX_SELECTED = 1000; // that one action takes: checkpoints/values/limits.py
// A function: the browser's own formats take 30 ms of the page's start to load.
const showLimit = () =>
  showToast(_("At most {limit} conversations can be selected at once.", { limit: MAX_SELECTED.toLocaleString(LANGUAGE) }));

/**
 * @param {object[]} threads as they are listed
 * @param {{view: string, text: string}} shown where Ctrl+A finds all of them
 * @param {import("../state/types.mjs").ThreadsData|undefined} data takes away what is gone
 * @returns {{ids: Set<string>|null, toggle: Function, selectAll: () => Promise<void>, start: Function, stop: Function}}
 *   `ids` is null outside the mode
 */
export function useSelection(threads, shown, data) {
  const [{ ids, anchor }, setState] = useState({ ids: null, anchor: null });
  useEffect(() => {
    const gone = new Set(data?.gone);
    const isOld = data?.since === null && ids?.size > PORTION; // so many have changed that the list is a new one
    if (ids && (isOld || [...ids].some((id) => gone.has(id))))
      setState({ ids: isOld ? null : new Set([...ids].filter((id) => !gone.has(id))), anchor: null });
  }, [data]);
  const stop = useCallback(() => setState({ ids: null, anchor: null }), []);
  const put = (chosen, last) => {
    if (chosen.size > MAX_SELECTED) showLimit();
    setState({ ids: new Set([...chosen].slice(0, MAX_SELECTED)), anchor: last });
  };
  const toggle = ({ id }, isRange) => {
    const chosen = new Set(ids);
    if (isRange && anchor !== null) listRange(threads, anchor, id).forEach((each) => chosen.add(each));
    else if (!chosen.delete(id)) chosen.add(id);
    put(chosen, id);
  };
  const selectAll = async () => {
    const all = await fetchThreads({ ...shown, limit: MAX_SELECTED });
    if (all === null) return showToast(_("The list could not be loaded. Please try again."));
    if (all.more) showLimit();
    setState({ ids: new Set(all.threads.map(({ id }) => id)), anchor: null });
  };
  return { ids, toggle, selectAll, start: () => setState({ ids: new Set(), anchor: null }), stop };
}

/** List the ids from one conversation to another, in either direction. */
function listRange(threads, from, to) {
  const listed = threads.map(({ id }) => id);
  const [start, end] = [listed.indexOf(from), listed.indexOf(to)].sort((one, other) => one - other);
  return start < 0 ? [to] : listed.slice(start, end + 1);
}

/**
 * @param {{count: number, isReader?: boolean, isArchive: boolean, onArchive: Function, onTags: Function,
 *   onExport: Function, onDelete: Function, onAll: Function, onDone: Function}} props
 */
export function SelectionBar({ count, isReader = false, isArchive, onArchive, onTags, onExport, onDelete, onAll, onDone }) {
  const bar = useRef(null);
  useLayoutEffect(() => {
    const element = bar.current;
    element.focus({ preventScroll: true }); // its keys are those of the pane
    return () => {
      if (element.contains(document.activeElement))
        document.querySelector(".threads-scroll")?.focus({ preventScroll: true });
    };
  }, []);
  const button = (name, onClick, isEnabled = count > 0) =>
    h("button", { type: "button", className: "quiet-button", disabled: !isEnabled, onClick }, name);
  return h(
    "div",
    { ref: bar, className: "selection-bar", role: "toolbar", tabIndex: -1, "aria-label": _("Selected conversations") },
    h("span", { className: "selection-count", role: "status" }, _("{count} selected", { count })),
    button(_("All"), onAll, true),
    button(_("Done"), onDone, true),
    !isReader && button(isArchive ? _("Unarchive") : _("Archive"), onArchive),
    !isReader && button(_("Tags"), onTags),
    button(_("Export"), onExport),
    !isReader && button(_("Delete"), onDelete),
  );
}
