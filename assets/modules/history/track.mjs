/** The track of checkpoints. */
import { useNow } from "../lib/clock.mjs";
import { formatAge } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { scrollWithin } from "../lib/scroll-within.mjs";
import { Checkpoint } from "./checkpoint.mjs";

const { createElement: h, useEffect, useRef, useState } = window.React;

const PAGE_CHECKPOINTS = 200; // the newest checkpoints; each "Show earlier" adds as many

/** The track, oldest checkpoint first, down to the current position. Pinned checkpoints are above it. */
export function Track({ data, matches, words, saving, act, stepping, earlier, onShow, onCompare }) {
  const now = useNow();
  const scroll = useRef(null);
  const { selected } = stepping;
  const isHereMarked = data.checkpoints.some((checkpoint) => checkpoint.here);
  useScrollToPlaces(scroll, data, isHereMarked, selected);

  const pinned = matches.filter((checkpoint) => checkpoint.pinned);
  const others = matches.filter((checkpoint) => !checkpoint.pinned);
  const { visible, hidden, showEarlier } = useVisible(others, selected, words, earlier);
  const row = (checkpoint) =>
    h(Checkpoint, {
      key: checkpoint.id,
      checkpoint,
      ago: formatAge(checkpoint.time, now),
      act,
      selected: checkpoint.id === selected,
      onShow,
      onCompare,
    });
  const isBare = data.checkpoints.length === 0 && !saving.pending;
  const isHereOpen = !isBare && !isHereMarked && !saving.pending && !words;
  return h(
    "div",
    { className: "history-scroll", ref: scroll, tabIndex: 0, role: "region", "aria-label": "Checkpoints" },
    isBare && h(NoCheckpoints),
    words && matches.length === 0 && h("p", { className: "pane-empty" }, "No matching checkpoints."),
    pinned.length > 0 && h("h3", { className: "history-heading" }, "Pinned"),
    pinned.length > 0 && h("ol", { className: "track" }, pinned.map(row)),
    pinned.length > 0 && others.length > 0 && h("h3", { className: "history-heading" }, "Others"),
    hidden > 0 && h(EarlierButton, { hidden, onClick: showEarlier }),
    h("ol", { className: "track" }, others.slice(-visible).map(row), saving.pending && h(SavingRow, { saving }), isHereOpen && h(HereRow)),
  );
}

/** Count the checkpoints that are shown, and those that are not: of the page, and where nothing is searched, of the server. */
function useVisible(others, selected, words, earlier) {
  const [shown, setShown] = useState(PAGE_CHECKPOINTS);
  const place = others.findIndex(({ id }) => id === selected);
  const visible = place < 0 ? shown : Math.max(shown, others.length - place);
  const hidden = Math.max(0, others.length - visible) + (words ? 0 : earlier.hidden);
  const showEarlier = () => {
    setShown(visible + PAGE_CHECKPOINTS);
    if (others.length < visible + PAGE_CHECKPOINTS && earlier.hidden > 0) earlier.showEarlier();
  };
  return { visible, hidden, showEarlier };
}

/** Keep the current position and the selected checkpoint in view. */
function useScrollToPlaces(scroll, { thread, checkpoints }, isHereMarked, selected) {
  const lastId = checkpoints.at(-1)?.id;
  useEffect(() => {
    scroll.current.querySelector(".here")?.scrollIntoView({ block: "nearest" });
  }, [thread, lastId, isHereMarked]);
  useEffect(() => {
    scrollWithin(scroll.current, scroll.current.querySelector(".selected"));
  }, [selected]);
}

function EarlierButton({ hidden, onClick }) {
  return h("button", { type: "button", className: "text-button", onClick }, `Show earlier (${hidden})`);
}

function NoCheckpoints() {
  return h(
    "div",
    { className: "pane-empty" },
    icon("signpost-2"),
    h("p", null, "No checkpoints yet. Save one, and you can come back to this point whenever you like."),
  );
}

function HereRow() {
  return h(
    "li",
    { className: "place here" },
    h("span", { className: "mark mark-open", "aria-hidden": true }),
    h("span", { className: "here-label" }, "you are here"),
  );
}

function SavingRow({ saving }) {
  return h(
    "li",
    { className: "place" },
    h("span", { className: "mark", "aria-hidden": true }),
    h(
      "div",
      { role: "status" },
      h("p", { className: "place-name" }, saving.pending.name || "Checkpoint"),
      saving.isLate
        ? h("p", { className: "place-meta" }, "Not saved yet: the server does not answer.")
        : h("p", { className: "place-meta" }, h("span", { className: "spinner" }), "Saving…"),
      saving.isLate && h("button", { type: "button", className: "quiet-button", onClick: saving.retry }, "Try again"),
    ),
  );
}
