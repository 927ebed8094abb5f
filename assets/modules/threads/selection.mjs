/** Several conversations at once: which are selected, and what can be done with them. */
import { button } from "../controls/buttons.mjs";
import { showToast } from "../controls/toast.mjs";
import { useExport } from "../page/exporting.mjs";
import { isFocusUnclaimed } from "../page/lost-focus.mjs";
import { fetchThreads } from "../state/thread-list.mjs";
import { LANGUAGE, _ } from "../words/words.mjs";

const { createElement: h, useEffect, useLayoutEffect, useRef, useState } = window.React;

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
 * @returns {{ids: Set<string>|null, toggle: Function, selectAll: () => Promise<void>, start: () => void, stop: () => void}}
 *   `ids` is null outside the mode
 */
export function useSelection(threads, shown, data) {
  const [{ ids, anchor }, setState] = useState({ ids: null, anchor: null });
  const put = (chosen, last = null) => {
    if (chosen?.size > MAX_SELECTED) showLimit();
    setState({ ids: chosen && new Set([...chosen].slice(0, MAX_SELECTED)), anchor: last });
  };
  useEffect(() => {
    if (ids === null) return;
    const kept = ids.difference(new Set(data?.gone));
    const isOld = data?.since === null && ids.size > PORTION; // so many have changed that the list is a new one
    if (isOld || kept.size < ids.size) put(isOld ? null : kept);
  }, [data]);
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
    put(new Set(all.threads.map(({ id }) => id)));
  };
  return { ids, toggle, selectAll, start: () => put(new Set()), stop: () => put(null) };
}

/** List the ids from one conversation to another, in either direction. */
function listRange(threads, from, to) {
  const listed = threads.map(({ id }) => id);
  const [start, end] = [listed.indexOf(from), listed.indexOf(to)].sort((one, other) => one - other);
  return start < 0 ? [to] : listed.slice(start, end + 1);
}

/**
 * What can be done with the selected conversations.
 * @param {{selection: ReturnType<typeof useSelection>, act: import("../state/types.mjs").Act, isReader?: boolean,
 *   isArchive: boolean, onTags: (threads: string[]) => void}} props
 */
export function SelectionBar({ selection, act, isReader = false, isArchive, onTags }) {
  const bar = useRef(null);
  const { startExport } = useExport();
  useLayoutEffect(() => {
    const element = bar.current;
    element.focus({ preventScroll: true }); // its keys are those of the pane
    return () => {
      if (element.contains(document.activeElement))
        document.querySelector(".threads-scroll")?.focus({ preventScroll: true });
    };
  }, []);
  const threads = [...(selection.ids ?? [])];
  const archive = () => {
    act("archive", { threads, archived: !isArchive });
    selection.stop();
  };
  const offer = (name, onClick) => button("quiet-button", name, onClick, { disabled: threads.length === 0 });
  return h(
    "div",
    { ref: bar, className: "selection-bar", role: "toolbar", tabIndex: -1, "aria-label": _("Selected conversations") },
    h("span", { className: "selection-count", role: "status" }, _("{count} selected", { count: threads.length })),
    button("quiet-button", _("All"), selection.selectAll),
    button("quiet-button", _("Done"), selection.stop),
    !isReader && offer(isArchive ? _("Unarchive") : _("Archive"), archive),
    !isReader && offer(_("Tags"), () => onTags(threads)),
    offer(_("Export"), () => startExport(threads)),
    !isReader && offer(_("Delete"), () => act("delete-all", { threads })),
  );
}
