/** A small menu below the button that opened it: arrow keys go through it, Escape and a click elsewhere close it. */
const { createElement: h, useLayoutEffect, useRef } = window.React;
const { flushSync } = window.ReactDOM;

const MIN_LEFT_PX = 8; // to the edge of the window
const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/** @param {{name: string, items: [string, () => void][], onClose: () => void}} props */
export function Menu({ name, items, onClose }) {
  const list = useRef(null);
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const element = list.current;
    element.children[0].focus({ preventScroll: true });
    const { left, bottom } = element.getBoundingClientRect();
    element.style.translate = `${Math.max(0, MIN_LEFT_PX - left)}px`; // on a phone, a short question's button is far left
    element.toggleAttribute("data-above", bottom > (element.closest(".log, .threads-scroll")?.getBoundingClientRect().bottom ?? window.innerHeight));
    const onPointerDown = (event) => element.contains(event.target) || onClose();
    document.addEventListener("pointerdown", onPointerDown);
    return () => {
      document.removeEventListener("pointerdown", onPointerDown);
      if (element.contains(document.activeElement)) opener?.focus({ preventScroll: true });
    };
  }, []);
  const onKeyDown = (event) => {
    const buttons = [...list.current.children];
    if (event.key in STEPS) buttons[(buttons.indexOf(document.activeElement) + STEPS[event.key] + buttons.length) % buttons.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const choose = (act) => () => {
    flushSync(onClose); // the button has the focus again: it is what the action returns the focus to
    act();
  };
  return h(
    "div",
    { className: "more-menu", role: "menu", "aria-label": name, ref: list, onKeyDown },
    items.map(([label, act], place) => h("button", { key: place, type: "button", role: "menuitem", tabIndex: -1, onClick: choose(act) }, label)),
  );
}
