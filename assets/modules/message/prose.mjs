/** The sanitised HTML of a message, with its tools, and scrolling by keyboard. */
import { copyText, explainSelection } from "../controls/copying.mjs";
import { getIconAddress } from "../controls/icons.mjs";
import { showToast } from "../controls/toast.mjs";
import { _ } from "../words/words.mjs";
import { downloadCode, writeTable } from "./prose-tools.mjs";

const { createElement: h, useLayoutEffect, useRef } = window.React;

let linkedLists = 0;

/** @param {HTMLElement} root of the text @param {HTMLElement} list of its footnotes */
function linkFootnotes(root, list) {
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
function followFootnote(event) {
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

const COPIED_FOR_MS = 1600;
const TABLE_SIGNS = { csv: "filetype-csv", markdown: "markdown" };

const buildIconHtml = (name) => `<svg class="icon" aria-hidden="true"><use href="${getIconAddress(name)}"></use></svg>`;

/**
 * Add buttons and keyboard scrolling to the code blocks and tables below an element, and links to its footnotes. A second
 * call skips finished ones.
 * @param {HTMLElement} root
 */
export function decorateProse(root) {
  for (const block of root.querySelectorAll(".code:not([data-ready])")) decorateCode(block);
  for (const table of root.querySelectorAll("table:not(.wide-content > table)")) decorateTable(table);
  for (const list of root.querySelectorAll(".footnotes:not([data-ready])")) linkFootnotes(root, list);
}

function decorateCode(block) {
  block.dataset.ready = "";
  const code = block.querySelector("pre");
  if (code) {
    code.tabIndex = 0;
    code.setAttribute("role", "group");
    code.setAttribute("aria-label", _("{language} code", { language: block.dataset.language || "plain" }));
  }
  block.append(
    buildTools([
      ["wrap", _("Wrap lines"), "text-wrap"],
      ["download", _("Download code"), "download"],
      ["copy", _("Copy code"), "copy"],
    ]),
  );
}

function decorateTable(table) {
  const frame = document.createElement("div");
  const scroller = document.createElement("div");
  frame.className = "table-frame";
  scroller.className = "wide-content";
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "group");
  scroller.setAttribute("aria-label", _("Table"));
  table.replaceWith(frame);
  scroller.append(table);
  frame.append(
    scroller,
    buildTools([
      ["csv", _("Copy table as CSV"), "filetype-csv"],
      ["markdown", _("Copy table as Markdown"), "markdown"],
    ]),
  );
}

/** @param {[string, string, string][]} buttons their action, name and icon */
function buildTools(buttons) {
  const tools = document.createElement("div");
  tools.className = "prose-tools";
  for (const [action, name, sign] of buttons) {
    const button = document.createElement("button");
    Object.assign(button, {
      type: "button",
      className: `prose-tool ${action}-tool`,
      title: name,
      innerHTML: buildIconHtml(sign),
    });
    button.dataset.tool = action;
    button.setAttribute("aria-label", name);
    if (action === "wrap") button.setAttribute("aria-pressed", "false");
    tools.append(button);
  }
  return tools;
}

/**
 * Run the tool of a code block or a table whose button was clicked, or follow a link to a footnote. One listener serves all
 * of a container.
 * @param {MouseEvent} event
 * @param {(text: string) => void} announce speaks to a screen reader
 */
export function runProseTool(event, announce) {
  followFootnote(event);
  const button = /** @type {Element} */ (event.target).closest?.("[data-tool]");
  const code = button?.closest(".code")?.querySelector("pre");
  const table = button?.closest(".table-frame")?.querySelector("table");
  if (!button || (!code && !table)) return;
  const tool = button.dataset.tool ?? "";
  if (code && tool === "wrap") button.setAttribute("aria-pressed", `${code.toggleAttribute("data-wrapped")}`);
  else if (code && tool === "download")
    downloadCode(code, code.closest(".code")?.dataset.language ?? "");
  else if (code && tool === "copy")
    showCopied(button, "copy", _("Code copied"), announce, copyText(code.textContent.replace(/\n$/, ""), code));
  else if (table)
    showCopied(button, TABLE_SIGNS[tool], _("Table copied"), announce, copyText(writeTable(table, tool), table));
}

/** @param {Promise<boolean>} copying */
async function showCopied(button, sign, text, announce, copying) {
  const isCopied = await copying;
  button.innerHTML = buildIconHtml(isCopied ? "check-lg" : "exclamation-circle");
  if (isCopied) announce(text);
  else showToast(explainSelection());
  setTimeout(() => (button.innerHTML = buildIconHtml(sign)), COPIED_FOR_MS);
}

/**
 * The server's sanitised HTML. React does not touch it until the text changes.
 * @param {{html: string, onReach?: () => void, place?: {current: Element|null}}} props `onReach`: the text is folded; called
 *   when its hidden part is focused or scrolled to
 */
export function Prose({ html, onReach, place }) {
  const own = useRef(null);
  const ref = place ?? own;
  useLayoutEffect(() => decorateProse(ref.current), [html]);
  const className = onReach ? "prose folded" : "prose";
  return h("div", { className, ref, onFocus: onReach, onScroll: onReach, dangerouslySetInnerHTML: { __html: html } });
}
