/** Links between the footnotes of a message and their marks. Their ids are the page's own: a message may be shown twice. */
import { _ } from "../lib/words.mjs";
let linkedLists = 0;

/** @param {HTMLElement} root of the text @param {HTMLElement} list of its footnotes */
export function linkFootnotes(root, list) {
  list.dataset.ready = "";
  list.setAttribute("aria-label", _("Footnotes"));
  linkedLists += 1;
  const notes = /** @type {HTMLCollectionOf<HTMLElement>} */ (list.children);
  for (const note of notes) linkFootnote(root, note, `footnote-${linkedLists}-${note.dataset.footnote}`);
}

/** @param {HTMLElement} root @param {HTMLElement} note @param {string} id */
function linkFootnote(root, note, id) {
  note.id = id;
  note.tabIndex = -1;
  const marks = [...root.querySelectorAll("sup[data-footnote]")].filter(
    (mark) => mark.dataset.footnote === note.dataset.footnote,
  );
  marks.forEach((mark, place) => {
    const link = buildLink(mark.dataset.footnote, id, _("Footnote {footnote}", { footnote: mark.dataset.footnote }));
    link.id = `${id}-mark-${place}`;
    mark.replaceChildren(link);
  });
  if (marks.length > 0)
    (note.lastElementChild ?? note).append(" ", buildLink("↩\ufe0e", `${id}-mark-0`, _("Back to the text")));
}

function buildLink(text, target, name) {
  const link = document.createElement("a");
  Object.assign(link, { className: "footnote-link", href: `#${target}`, textContent: text });
  link.setAttribute("aria-label", name);
  return link;
}

/** Follow a link between a footnote and its mark, without a change of the page's address. @param {MouseEvent} event */
export function followFootnote(event) {
  /** @type {HTMLAnchorElement|null|undefined} */
  const link = /** @type {Element} */ (event.target).closest?.(".footnote-link");
  const target = link && document.getElementById(link.hash.slice(1));
  if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  /** @type {HTMLAnchorElement|""|null} */
  const back = link.id && target.querySelector(":scope > .footnote-link, :scope > :last-child > .footnote-link");
  if (back) back.hash = link.id; // to the mark from which one came
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}
