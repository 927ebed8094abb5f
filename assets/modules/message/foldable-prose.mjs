/** The text of a message, folded if it is long, and the link to the rest that the page does not hold. */
import { buildThreadApi } from "../browser/addresses.mjs";
import { usePageOption } from "../browser/page-options.mjs";
import { button } from "../controls/buttons.mjs";
import { send } from "../requests/send.mjs";
import { _ } from "../words/words.mjs";
import { Prose } from "./prose.mjs";
import { ShowAll } from "./show-all.mjs";

const { Fragment, createElement: h, useEffect, useRef, useState } = window.React;

/** Lines and characters of a text that is not folded, by its author. An answer is there to be read. */
const UNFOLDED = { user: [24, 2_500], assistant: [400, 40_000] };
const unfoldedIds = new Set(); // of messages: they stay so while the page is open
const formattedById = new Map(); // questions as Markdown, by the id of their message

/**
 * The folded part can be searched and read: a hit or a focus in it unfolds it.
 * @param {{message: import("../state/types.mjs").MessageView}} props
 */
export function FoldableProse({ message }) {
  const { id, role, text, more } = message;
  const { place, html } = useShownHtml(message);
  const [isFolded, setFolded] = useState(!unfoldedIds.has(id));
  const [maxLines, maxChars] = UNFOLDED[role] ?? UNFOLDED.assistant;
  const isLong = text.length > maxChars || text.split("\n", maxLines + 1).length > maxLines;
  const fold = (isWanted) => {
    unfoldedIds[isWanted ? "delete" : "add"](id);
    setFolded(isWanted);
  };
  const onReach = isLong && isFolded ? () => fold(false) : undefined;
  const label = isFolded ? _("Show more") : _("Show less");
  return h(
    Fragment,
    null,
    h(Prose, { html, place, onReach }),
    isLong &&
      h("p", { className: "show-all" },
        button("quiet-button", label, () => fold(!isFolded), { "aria-expanded": !isFolded }),
      ),
    h(ShowAll, { more }),
  );
}

/** Return the HTML of a message: of a question as it was written, or as Markdown where this browser has that option. */
function useShownHtml({ id, role, html }) {
  const place = useRef(null);
  const isMarkdown = usePageOption("markdown-questions");
  const [, setFormattedId] = useState(null);
  const isWanted = isMarkdown && role === "user";
  useEffect(() => {
    if (!isWanted || formattedById.has(id)) return undefined;
    const controller = new AbortController();
    const { thread } = place.current.closest("[data-thread]").dataset;
    send(buildThreadApi(thread, `messages/${id}/formatted`), { signal: controller.signal }).then(({ reply }) => {
      if (reply === null) return; // the question stays as it was written
      formattedById.set(id, reply.html);
      setFormattedId(id);
    });
    return () => controller.abort();
  }, [isWanted, id]);
  return { place, html: (isWanted && formattedById.get(id)) || html };
}
