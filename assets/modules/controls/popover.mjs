/** A small panel beside the button that opens it. */
import { useListener } from "./listening.mjs";

const { useEffect, useRef, useState } = window.React;

/**
 * Open and close a panel. Another conversation, a click outside and Escape close it.
 * @param {string|null} thread
 * @returns {{isOpen: boolean|string, setOpen: (isOpen: boolean|string) => void, close: () => void,
 *   root: {current: HTMLElement}, onKeyDown: Function}} `isOpen` may name a part of it; `close` gives the focus back to
 *   the button; `root` and `onKeyDown` are for the element around both
 */
export function usePopover(thread) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef(null);
  useEffect(() => setOpen(false), [thread]);
  const onPointerDown = ({ target }) => root.current.contains(target) || setOpen(false);
  useListener(document, "pointerdown", onPointerDown, { isActive: Boolean(isOpen) });
  const close = () => {
    setOpen(false);
    root.current.querySelector("button").focus();
  };
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.stopPropagation();
    close();
  };
  return { isOpen, setOpen, close, root, onKeyDown };
}
