/** A small menu below the button that opened it: arrow keys go through it, Escape and a click elsewhere close it. */
import { button, iconButton } from "./buttons.mjs";
import { useListener } from "./listening.mjs";

const { createElement: h, useLayoutEffect, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

const EDGE_PX = 8; // between a menu and the edge of its view
const MIN_HEIGHT_PX = 130;
const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/**
 * Keep a menu in view: above its opener where there is more room, no higher than that room, and within the window's left
 * edge.
 */
function placeMenu(element) {
  const view = element.closest(".log, .threads-scroll")?.getBoundingClientRect() ?? { top: 0, bottom: window.innerHeight };
  const { left, bottom } = element.getBoundingClientRect();
  const { top, bottom: below } = element.offsetParent.getBoundingClientRect();
  const isAtFoot = element.closest(".place-card") !== null;
  const isAbove = isAtFoot || (bottom > view.bottom && top - view.top > view.bottom - below);
  element.toggleAttribute("data-above", isAbove);
  element.style.maxHeight = `${Math.max(MIN_HEIGHT_PX, (isAbove ? top - view.top : view.bottom - below) - EDGE_PX)}px`;
  element.style.translate = `${Math.max(0, EDGE_PX - left)}px`; // on a phone, a short question's button is far left
}

/** @typedef {[label: string, act: () => void, testId?: string]} MenuItem */

/**
 * A button with a menu of what is seldom needed.
 * @param {{name: string, title?: string, className?: string, list: () => MenuItem[]}} props `list`: called while it is open
 */
export function MoreButton({ name, title = name, className, list }) {
  const [isOpen, setOpen] = useState(false);
  const open = ({ detail }) => detail < 2 && setOpen(true);
  return h(
    "span",
    { className: "more" },
    iconButton("three-dots", name, open, { className, title, "aria-haspopup": "menu", "aria-expanded": isOpen }),
    isOpen && h(Menu, { name, items: list(), onClose: () => setOpen(false) }),
  );
}

/** @param {{name: string, items: MenuItem[], onClose: () => void}} props */
export function Menu({ name, items, onClose }) {
  const list = useRef(null);
  useLayoutEffect(() => {
    const opener = /** @type {HTMLElement|null} */ (document.activeElement);
    const element = list.current;
    element.children[0].focus({ preventScroll: true });
    placeMenu(element);
    return () => {
      if (element.contains(document.activeElement)) opener?.focus({ preventScroll: true });
    };
  }, []);
  useListener(document, "pointerdown", ({ target }) => list.current.contains(target) || onClose());
  const onKeyDown = (event) => {
    const buttons = [...list.current.children];
    if (event.key in STEPS)
      buttons[(buttons.indexOf(document.activeElement) + STEPS[event.key] + buttons.length) % buttons.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const choose = (act) => () => {
    flushSync(onClose); // the button has the focus again: it is what the action returns the focus to
    act();
  };
  return h("div", { className: "more-menu", role: "menu", "aria-label": name, ref: list, onKeyDown },
    items.map(([label, act, testId], place) =>
      button(null, label, choose(act), {
        key: place, role: "menuitem", tabIndex: place === 0 ? 0 : -1, "data-testid": testId,
      })),
  );
}
