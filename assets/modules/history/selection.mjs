/**
 * The selected place, and the card of a checkpoint that the conversation opens. Showing a place scrolls the conversation to
 * its message, and no head moves.
 */
import { useListener } from "../controls/listening.mjs";
import { showToast } from "../controls/toast.mjs";
import { isNarrow, showPane } from "../page/panes.mjs";
import { _ } from "../words/words.mjs";

const { useCallback, useEffect, useMemo, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

/**
 * @param {import("./layout.mjs").HistoryLayout} layout
 * @returns {{selected: string|null, select: (key: string|null) => void, show: (row: object|null) => void,
 *   stepBack: Function|null, stepForward: Function|null}}
 */
export function useSelection({ rows }, thread) {
  const [selected, select] = useState(null);
  useEffect(() => select(null), [thread]);
  const latest = useRef(rows);
  latest.current = rows;
  const show = useCallback((row) => {
    select(row?.key ?? null);
    if (row?.item?.value.detached && !row.item.isElsewhere)
      showToast(_("{name} is not on the current path. Restore it to see its messages.", { name: row.item.value.name }));
    else
      document.dispatchEvent(
        new CustomEvent("waymark-show", { detail: { message: row && findShownMessage(latest.current, row) } }),
      );
  }, []);
  return { selected, select, show, ...useSteps(rows, selected, show) };
}

/** Find the message to show for a place: its own, or the one where its branch begins. */
function findShownMessage(rows, row) {
  let shown = row;
  while (shown.up >= 0 && !(shown.line === "current" && shown.message)) shown = rows[shown.up];
  return shown.message;
}

const sortSteps = (rows) =>
  rows
    .filter(({ kind, item }) => kind === "checkpoint" && !item.isElsewhere)
    .sort((one, other) => one.messages - other.messages);

/** Step through the checkpoints of the current branch. The current position comes after the last one. */
function useSteps(rows, selected, show) {
  const steps = useMemo(() => sortSteps(rows), [rows]); // not with each key: there may be thousands
  const selectedIndex = steps.findIndex(({ key }) => key === selected);
  const hereIndex = steps.findIndex(({ item }) => item.isHere);
  const current = selectedIndex >= 0 ? selectedIndex : hereIndex >= 0 ? hereIndex : steps.length;
  const stepBack = current > 0 ? () => show(steps[current - 1]) : null;
  const stepForward = selectedIndex >= 0 ? () => show(steps[current + 1] ?? null) : null;
  useStepKeys(stepBack, stepForward);
  return { stepBack, stepForward };
}

/** Step on Alt with an arrow key, except in a field with text, where these keys move the caret. */
function useStepKeys(stepBack, stepForward) {
  const steps = { ArrowUp: stepBack, ArrowDown: stepForward };
  useListener(document, "keydown", (event) => {
    const isOther =
      !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || document.querySelector(".modal.show");
    if (isOther || event.target.value || !(event.key in steps)) return;
    event.preventDefault();
    flushSync(() => steps[event.key]?.());
    document.querySelector(".place.selected .place-jump")?.focus({ preventScroll: true });
  });
}

/** List the steps as commands of the palette. @returns {import("../state/types.mjs").Command[]} */
export function listSteps({ stepBack, stepForward }) {
  const steps = [[_("Previous checkpoint"), "Alt+↑", stepBack], [_("Next checkpoint"), "Alt+↓", stepForward]];
  return steps.filter(([, , run]) => run !== null).map(([name, keys, run]) => ({ group: _("Actions"), name, keys, run }));
}

/**
 * @param {import("./layout.mjs").HistoryLayout} layout
 * @param {{selected: string|null, select: (key: string|null) => void}} selection
 * @returns {{open: (request: {checkpoint: string}) => void, close: () => void}}  `close` returns the focus to where it came
 *   from
 */
export function useOpening({ rows }, { selected, select }, filter, portion) {
  const [wanted, setWanted] = useState(null); // the key of the row, until it is there
  const opener = useRef(null);
  const focused = useRef(null); // the key of the row whose card gets the focus as soon as it is there
  const isThere = wanted !== null && rows.some(({ key }) => key === wanted);
  const open = ({ checkpoint }) => {
    opener.current = { button: document.activeElement, key: `checkpoint:${checkpoint}` };
    showPane("history");
    filter.clear();
    portion.include(checkpoint);
    setWanted(`checkpoint:${checkpoint}`);
  };
  useEffect(() => {
    if (!isThere) return;
    focused.current = wanted;
    select(wanted);
    setWanted(null);
  }, [isThere, wanted]);
  useEffect(() => {
    if (focused.current === null || focused.current !== selected) return;
    focused.current = null;
    // after the sheet's own focus
    requestAnimationFrame(() => document.querySelector(".place-card .card-buttons button")?.focus());
  });
  const close = () => {
    const { button, key } = opener.current ?? {};
    const isOpener = key === selected && button.isConnected && !isNarrow();
    const row = document.querySelector(`[data-key="${CSS.escape(selected ?? "")}"] .place-jump`);
    (isOpener ? button : row)?.focus({ preventScroll: true });
    opener.current = null;
    select(null);
  };
  return { open, close };
}
