/** The menu of the bar: what is seldom needed, in words. */
import { listOffers } from "../controls/commands.mjs";

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

const find = (id) => /** @type {HTMLButtonElement} */ (document.getElementById(id));
const findButton = () => find("show-more");
const findMenu = () => find("more");
const isOpen = () => findButton()?.getAttribute("aria-expanded") === "true";
const listItems = (selector) => /** @type {HTMLButtonElement[]} */ ([...findMenu().querySelectorAll(selector)]);

/** Find the palette's command of an item, where it is possible. */
const findCommand = (item) => listOffers().find(({ name, offReason }) => name === item.dataset.run && !offReason);

/** Show or hide the menu. An item that presses another button, or runs a command of the palette, is as enabled as that. */
function showMenu(isShown) {
  if (isShown === isOpen()) return;
  findButton().setAttribute("aria-expanded", String(isShown));
  findMenu().classList.toggle("shown", isShown);
  for (const item of listItems("[data-press]")) item.disabled = find(item.dataset.press).disabled;
  for (const item of listItems("[data-run]")) item.disabled = !findCommand(item);
}

function onClick({ target }) {
  if (!(target instanceof Element)) return;
  const [pressed, item] = [target.closest("#more [data-press]"), target.closest("#more [data-run]")];
  if (target.closest("#more button")) findButton().focus(); // a dialog gives the focus back to the button
  showMenu(Boolean(target.closest("#show-more")) && !isOpen());
  if (pressed) find(pressed.dataset.press).click();
  if (item) findCommand(item)?.run?.();
}

/** Move through the open menu by arrow keys, and close it on Escape and Tab. */
function onKeyDown(event) {
  if (!isOpen()) return;
  if (event.key in STEPS) {
    const items = listItems("button, a").filter((item) => !item.disabled && item.checkVisibility());
    const place = items.findIndex((item) => item === document.activeElement);
    event.preventDefault();
    items[
      (place < 0 && event.key === "ArrowUp" ? items.length - 1 : place + STEPS[event.key] + items.length) % items.length
    ]?.focus();
  } else if (event.key === "Escape") {
    event.preventDefault(); // else the same Escape would close a sheet
    showMenu(false);
    findButton().focus();
  }
}

export function watchBarMenu() {
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKeyDown);
  document.addEventListener(
    "focusin",
    ({ target }) =>
      isOpen() && !findMenu().contains(/** @type {Node} */ (target)) && target !== findButton() && showMenu(false),
  );
  // A file can be dropped on the item that imports: it is shown when the file is above the button.
  document.addEventListener(
    "dragenter",
    ({ target }) => target instanceof Element && target.closest("#show-more") && showMenu(true),
  );
}
