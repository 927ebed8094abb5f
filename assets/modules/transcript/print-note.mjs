/** A line that only a print has: it names what the page had not loaded, and where the whole conversation is. */
import { buildAddress } from "../lib/addresses.mjs";

const { createElement: h } = window.React;

/** @param {{data: import("../lib/types.mjs").TranscriptData}} props */
export function PrintNote({ data: { thread, earlier, later } }) {
  if (!earlier && !later) return null;
  const missing = earlier && later ? "Earlier and later" : earlier ? "Earlier" : "Later";
  return h(
    "p",
    { className: "print-note" },
    `${missing} messages are not in this print. For the whole conversation, open `,
    h("a", { href: buildAddress(thread) }, buildAddress(thread)),
    " and choose Export, “HTML, to read anywhere”.",
  );
}
