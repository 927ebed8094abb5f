/** The link of an excerpt to the place that it comes from. */
import { icon } from "../lib/icons.mjs";
import { getOpenThread } from "../lib/show-message.mjs";
import { showPlace } from "../lib/show-place.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h } = window.React;

const GONE_TEXT = _("The origin of this note is not in this conversation.");

/** @param {{excerpt: import("../lib/types.mjs").ExcerptView}} props */
export function ExcerptOrigin({ excerpt: { origin, address } }) {
  const show = () => showPlace(getOpenThread(), address, _("origin of the note"), GONE_TEXT);
  return h(
    "p",
    { className: "note-left quiet" },
    h(
      "button",
      { type: "button", className: "text-button", title: _("From {origin}", { origin }), onClick: show },
      icon("signpost-2"),
      _(" Show its origin"),
    ),
  );
}
