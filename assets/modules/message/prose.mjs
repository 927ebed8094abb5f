/** The sanitised HTML of a message, with copy buttons and scrolling by keyboard. */
import { getIconAddress } from "../lib/icons.mjs";

const { createElement: h, useLayoutEffect, useRef } = window.React;

const COPIED_FOR_MS = 1600;

const buildIconHtml = (name) => `<svg class="icon" aria-hidden="true"><use href="${getIconAddress(name)}"></use></svg>`;

/** @returns {Promise<boolean>} whether the text is on the clipboard */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text); // no permission, or plain http away from localhost
  }
}

function copyBySelection(text) {
  const area = document.createElement("textarea");
  const before = document.activeElement;
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  before?.focus();
  return copied;
}

/**
 * Add copy buttons and keyboard scrolling to the code blocks and tables below an element. A second call skips finished ones.
 * @param {Element} root
 */
export function decorateProse(root) {
  for (const block of root.querySelectorAll(".code:not([data-ready])")) decorateCode(block);
  for (const table of root.querySelectorAll("table:not(.wide-content > table)")) decorateTable(table);
}

function decorateCode(block) {
  block.dataset.ready = "";
  const code = block.querySelector("pre");
  if (code) {
    code.tabIndex = 0;
    code.setAttribute("role", "group");
    code.setAttribute("aria-label", `${block.dataset.language || "plain"} code`);
  }
  const button = document.createElement("button");
  button.type = "button";
  button.className = "code-copy";
  button.setAttribute("aria-label", "Copy code");
  button.title = "Copy code";
  button.innerHTML = buildIconHtml("copy");
  block.append(button);
}

function decorateTable(table) {
  const frame = document.createElement("div");
  frame.className = "wide-content";
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", "Table");
  table.replaceWith(frame);
  frame.append(table);
}

/**
 * Copy the code block whose copy button was clicked. One listener serves all buttons of a container.
 * @param {MouseEvent} event
 * @param {(text: string) => void} announce speaks to a screen reader
 */
export async function copyCodeOnClick(event, announce) {
  const button = event.target.closest?.(".code-copy");
  const code = button?.closest(".code")?.querySelector("pre");
  if (!code) return;
  const copied = await copyText(code.textContent.replace(/\n$/, ""));
  button.innerHTML = buildIconHtml(copied ? "check-lg" : "exclamation-circle");
  announce(copied ? "Code copied" : "Copying was not allowed");
  setTimeout(() => (button.innerHTML = buildIconHtml("copy")), COPIED_FOR_MS);
}

/** The server's sanitised HTML. React does not touch it until the text changes. */
export function Prose({ html }) {
  const ref = useRef(null);
  useLayoutEffect(() => decorateProse(ref.current), [html]);
  return h("div", { className: "prose", ref, dangerouslySetInnerHTML: { __html: html } });
}
