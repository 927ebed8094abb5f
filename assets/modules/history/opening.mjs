/** Open the card of a checkpoint that the conversation shows: filters, and the portion of the data, may leave it out. */
import { isNarrow, showPane } from "../page/panes.mjs";

const { useEffect, useRef, useState } = window.React;

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
