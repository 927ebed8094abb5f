/** The sanitised HTML of a message, with its tools, and scrolling by keyboard. */
import { copyText, explainSelection } from "../controls/copying.mjs";
import { getIconAddress } from "../controls/icons.mjs";
import { showToast } from "../controls/toast.mjs";
import { _ } from "../words/words.mjs";
import { downloadCode, writeTable } from "./prose-tools.mjs";

const { createElement: h, useLayoutEffect, useRef } = window.React;

/** @param {string} tag @param {Record<string, any>} properties @param {...(Node|string)} children */
function build(tag, { data = {}, ...properties }, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  Object.assign(element.dataset, data);
  element.append(...children);
  return element;
}

let linkedLists = 0;

/** @param {HTMLElement} root of the text @param {HTMLElement} list of its footnotes */
function linkFootnotes(root, list) {
  list.dataset.ready = "";
  list.ariaLabel = _("Footnotes");
  linkedLists += 1;
  for (const note of list.children) linkFootnote(root, /** @type {HTMLElement} */ (note));
}

/** @param {HTMLElement} root @param {HTMLElement} note */
function linkFootnote(root, note) {
  const { footnote = "" } = note.dataset;
  const id = `footnote-${linkedLists}-${footnote}`;
  Object.assign(note, { id, tabIndex: -1 });
  const marks = root.querySelectorAll(`sup[data-footnote="${CSS.escape(footnote)}"]`);
  marks.forEach((mark, place) => {
    const link = buildLink(footnote, id, _("Footnote {footnote}", { footnote }));
    link.id = `${id}-mark-${place}`;
    mark.replaceChildren(link);
  });
  if (marks.length > 0)
    (note.lastElementChild ?? note).append(" ", buildLink("↩\ufe0e", `${id}-mark-0`, _("Back to the text")));
}

const buildLink = (text, target, name) =>
  build("a", { className: "footnote-link", href: `#${target}`, ariaLabel: name }, text);

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
const WRAP = ["wrap", _("Wrap lines"), "text-wrap"];
const DOWNLOAD = ["download", _("Download code"), "download"];
const COPY = ["copy", _("Copy code"), "copy"];
const COPY_CSV = ["csv", _("Copy table as CSV"), "filetype-csv"];
const COPY_MARKDOWN = ["markdown", _("Copy table as Markdown"), "markdown"];

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

/** Properties of what the keyboard scrolls. */
const describeScroller = (name) => ({ tabIndex: 0, role: "group", ariaLabel: name });

function decorateCode(block) {
  const { language } = block.dataset;
  block.dataset.ready = "";
  Object.assign(block.querySelector("pre") ?? {}, describeScroller(_("{language} code", { language: language || "plain" })));
  block.append(buildTools(WRAP, DOWNLOAD, COPY));
}

function decorateTable(table) {
  const scroller = build("div", { className: "wide-content", ...describeScroller(_("Table")) });
  table.replaceWith(build("div", { className: "table-frame" }, scroller, buildTools(COPY_CSV, COPY_MARKDOWN)));
  scroller.append(table);
}

/** @param {any[]} tools each with its action, name and icon */
function buildTools(...tools) {
  const button = ([tool, name, sign]) =>
    build("button", {
      type: "button", className: `prose-tool ${tool}-tool`, title: name, ariaLabel: name, innerHTML: buildIconHtml(sign),
      ariaPressed: tool === "wrap" ? "false" : null, data: { tool, sign },
    });
  return build("div", { className: "prose-tools" }, ...tools.map(button));
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
  if (code) runCodeTool(button, code, announce);
  else if (table)
    showCopied(button, _("Table copied"), announce, copyText(writeTable(table, button?.dataset.tool ?? ""), table));
}

function runCodeTool(button, code, announce) {
  const { tool } = button.dataset;
  if (tool === "wrap") button.ariaPressed = `${code.toggleAttribute("data-wrapped")}`;
  else if (tool === "download") downloadCode(code, code.closest(".code").dataset.language ?? "");
  else showCopied(button, _("Code copied"), announce, copyText(code.textContent.replace(/\n$/, ""), code));
}

/** @param {Promise<boolean>} copying */
async function showCopied(button, text, announce, copying) {
  const isCopied = await copying;
  button.innerHTML = buildIconHtml(isCopied ? "check-lg" : "exclamation-circle");
  if (isCopied) announce(text);
  else showToast(explainSelection());
  setTimeout(() => (button.innerHTML = buildIconHtml(button.dataset.sign)), COPIED_FOR_MS);
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
