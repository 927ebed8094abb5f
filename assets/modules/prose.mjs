/** What the sanitised html of a message gets in the browser: copy buttons, and scrolling by keyboard. */
const COPIED_FOR_MS = 1600;

const use = (name) => `<svg class="icon" aria-hidden="true"><use href="/vendor/icons.svg#${name}"></use></svg>`;

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
 * Give the code blocks and tables below an element their tools. May be called again: what is done is skipped.
 * @param {Element} root
 */
export function decorate(root) {
  for (const block of root.querySelectorAll(".code:not([data-ready])")) {
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
    button.innerHTML = use("copy");
    block.append(button);
  }
  for (const table of root.querySelectorAll("table:not(.wide-content > table)")) {
    const frame = document.createElement("div");
    frame.className = "wide-content";
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", "Table");
    table.replaceWith(frame);
    frame.append(table);
  }
}

/**
 * One listener for all copy buttons of a container.
 * @param {MouseEvent} event
 * @param {(text: string) => void} say tells a screen reader
 */
export async function copyCodeOnClick(event, say) {
  const button = event.target.closest?.(".code-copy");
  const code = button?.closest(".code")?.querySelector("pre");
  if (!code) return;
  const copied = await copyText(code.textContent.replace(/\n$/, ""));
  button.innerHTML = use(copied ? "check-lg" : "exclamation-circle");
  say(copied ? "Code copied" : "Copying was not allowed");
  setTimeout(() => (button.innerHTML = use("copy")), COPIED_FOR_MS);
}
