/** Find within the conversation. Ctrl+F opens a bar where the page does not hold every message; else the browser finds. */
import { showWithKeys } from "../lib/held-keys.mjs";
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";

const { useCallback, useEffect, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

export const FindBar = lazy(
  () => import("./find-bar.lazy.mjs"),
  "FindBar",
  _("The search could not be loaded. Please try again."),
);

const isFindKey = (event) =>
  (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "f";
const isCovered = () => document.querySelector(".modal.show") !== null;

/**
 * Open and close the bar. A second Ctrl+F, in the bar's field, is the browser's.
 * @param {{earlier: boolean, later: boolean}} data
 * @returns {{isOpen: boolean, open: () => void, close: () => void}} `close` gives the focus back to where it was
 */
export function useFinding({ earlier, later }) {
  const [isOpen, setOpen] = useState(false);
  const focused = useRef(null);
  const isNeeded = useRef(false);
  isNeeded.current = isOpen || earlier || later;
  const open = useCallback(() => {
    /** @type {HTMLInputElement|null} */
    const field = document.querySelector(".find-field");
    if (field !== null) return field.select();
    focused.current = document.activeElement;
    return showWithKeys(FindBar, () => flushSync(() => setOpen(true)));
  }, []);
  const close = useCallback(() => {
    setOpen(false);
    if (focused.current?.isConnected) focused.current.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    const onKeyDown = (event) => {
      if (!isFindKey(event) || !isNeeded.current || isCovered() || event.target.matches?.(".find-field")) return;
      event.preventDefault();
      open();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [open]);
  return { isOpen, open, close };
}
