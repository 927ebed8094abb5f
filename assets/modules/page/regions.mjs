/** Ways between the parts of the page without a mouse: F6 and Shift+F6, and the links at the page's beginning. */
import { isNarrow, showPane } from "./panes.mjs";

const FOCUSABLE = 'button:not([disabled]), a[href], input:not([hidden]), textarea, [tabindex="0"]:not([role="separator"])';
const FIELD = ".message-field textarea";
/** Each part with the element that gets the focus first. */
const REGIONS = {
  topbar: [".topbar", "#open-palette"],
  threads: [".pane-threads", ".thread-current a"],
  chat: [".pane-chat", FIELD],
  history: [".pane-history", '.place-jump[tabindex="0"]'],
};
const LINKS = {
  composer: () => document.querySelector(FIELD),
  chat: () => document.querySelector(".log") ?? document.querySelector(FIELD),
  history: () => (showPane("history"), findTarget("history")),
};

const lastFocused = new Map();
const isShown = (element) => Boolean(element?.checkVisibility({ visibilityProperty: true })) && !element.closest("[inert]");
const findRegion = (name) => document.querySelector(REGIONS[name][0]);

function findTarget(name) {
  const [region, first] = [findRegion(name), REGIONS[name][1]];
  const candidates = [lastFocused.get(name), ...region.querySelectorAll(first), ...region.querySelectorAll(FOCUSABLE)];
  return candidates.find((element) => isShown(element) && region.contains(element)) ?? null;
}

/** Focus the next part that is shown. @param {1|-1} step */
function focusNextRegion(step) {
  const names = Object.keys(REGIONS).filter((name) => isShown(findRegion(name)));
  const current = names.findIndex((name) => findRegion(name).contains(document.activeElement));
  const start = current < 0 && step < 0 ? 0 : current;
  findTarget(names[(start + step + names.length) % names.length])?.focus();
}

export function watchRegions() {
  document.addEventListener("focusin", ({ target }) => {
    const name = Object.keys(REGIONS).find((each) => findRegion(each).contains(target));
    if (name) lastFocused.set(name, target);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "F6" || event.ctrlKey || event.altKey || event.metaKey || document.querySelector(".modal.show"))
      return;
    event.preventDefault();
    focusNextRegion(event.shiftKey ? -1 : 1);
  });
  document.querySelector(".skip-links")?.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest("[data-region]");
    if (!link) return;
    event.preventDefault(); // the address names the conversation alone
    if (link.dataset.region !== "history" || !isNarrow()) return LINKS[link.dataset.region]()?.focus();
    showPane("history"); // a sheet takes the focus itself
  });
}
