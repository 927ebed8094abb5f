/** A line that only a print has: it names what the page had not loaded, and where the whole conversation is. */
import { buildAddress } from "../lib/addresses.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h } = window.React;

/** @param {{data: import("../lib/types.mjs").TranscriptData}} props */
export function PrintNote({ data: { thread, earlier, later } }) {
  if (!earlier && !later) return null;
  const missing = earlier && later ? _("Earlier and later") : earlier ? _("Earlier") : _("Later");
  return h(
    "p",
    { className: "print-note" },
    _("{missing} messages are not in this print. For the whole conversation, open ", { missing }),
    h("a", { href: buildAddress(thread) }, buildAddress(thread)),
    _(" and choose Export, “HTML, to read anywhere”."),
  );
}
