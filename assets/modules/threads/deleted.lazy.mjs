/** The last deleted conversations, each with a button to bring it back. */
const { createElement: h } = window.React;

/** @param {{found: DeletedItem[], onBringBack: (fields: {thread: string, version: number}) => void}} props */
export function Deleted({ found, onBringBack }) {
  if (found.length === 0) return h("p", { className: "pane-empty" }, "No deleted conversations.");
  return h(
    "ul",
    null,
    found.map(({ id, title, version }) =>
      h(
        "li",
        { key: id, className: "thread-row thread-deleted" },
        h("span", { className: "thread-title", title }, title),
        h(
          "button",
          { type: "button", className: "quiet-button", "aria-label": `Bring back ${title}`, onClick: () => onBringBack({ thread: id, version }) },
          "Bring back",
        ),
      ),
    ),
  );
}
