/** The checkpoints of the conversation, the current place among them, and its branches. */
import { useActions } from "./actions.mjs";
import { Branches } from "./branches.mjs";
import { Checkpoint } from "./checkpoint.mjs";
import { useNow } from "./clock.mjs";
import { relativeTime } from "./format.mjs";
import { icon } from "./icons.mjs";
import { CheckpointForm, SaveButton, useSaveKey, useSaving } from "./saving.mjs";
import { PaneHead } from "./sheet.mjs";
import { openSheet } from "./shell.mjs";
import { say } from "./toast.mjs";

const { createElement: h, useEffect, useRef, useState } = window.React;

const FEW = 8; // checkpoints that need no search
const WINDOW = 200; // of them at first, the newest, and more that each "Show earlier" brings
const NOTHING = { thread: null, checkpoints: [], branches: [], save: { enabled: false, reason: null } };

/**
 * @typedef {{thread: string|null, version: number, checkpoints: import("./checkpoint.mjs").CheckpointView[],
 *   branches: import("./branches.mjs").BranchView[], save: {enabled: boolean, reason: string|null}}} TimelineData
 * @param {{id: string, data?: TimelineData, setProps: Function}} props
 */
export function Timeline(props) {
  const data = props.data ?? NOTHING;
  const act = useActions(props);
  const [isNaming, setNaming] = useState(false);
  const [sought, setSought] = useState("");
  const saving = useSaving(props.data, act);
  useEffect(() => {
    setNaming(false);
    setSought("");
  }, [data.thread]);

  const openForm = () => {
    if (data.save.enabled) {
      openSheet("timeline");
      setNaming(true);
    } else if (data.save.reason) say(data.save.reason);
  };
  useSaveKey(openForm);
  const closeForm = () => {
    setNaming(false);
    // The form is gone with its focus: give it back to the button that stands there again.
    requestAnimationFrame(() => document.querySelector('[data-testid="save"]')?.focus());
  };

  return h(
    "div",
    { id: props.id, className: "timeline" },
    h(PaneHead, { title: "Timeline", id: "timeline-heading" }),
    h(
      "div",
      { className: "timeline-save" },
      isNaming
        ? h(CheckpointForm, {
            title: "Save checkpoint",
            onSave: (name, description) => {
              closeForm();
              saving.start({ name, description });
            },
            onCancel: closeForm,
          })
        : h(SaveButton, { save: data.save, onClick: openForm }),
    ),
    data.branches.length > 1 && h(Branches, { branches: data.branches, act }),
    data.checkpoints.length > FEW && h(Search, { sought, onSeek: setSought }),
    h(Track, { key: data.thread, data, sought: data.checkpoints.length > FEW ? sought : "", saving, act }),
  );
}

function Search({ sought, onSeek }) {
  return h("input", {
    type: "search",
    className: "form-control timeline-search",
    placeholder: "Search checkpoints",
    "aria-label": "Search checkpoints",
    value: sought,
    onChange: (event) => onSeek(event.target.value),
  });
}

/** The line with its marks, oldest first; it ends where the conversation stands. What is pinned stands above it. */
function Track({ data, sought, saving, act }) {
  const now = useNow();
  const scroll = useRef(null);
  const [most, setMost] = useState(WINDOW);
  const lastId = data.checkpoints.at(-1)?.id;
  const isHereMarked = data.checkpoints.some((checkpoint) => checkpoint.here);
  useEffect(() => {
    const place = scroll.current.querySelector(".here");
    place?.scrollIntoView({ block: "nearest" });
  }, [data.thread, lastId, isHereMarked]);

  const words = sought.trim().toLowerCase();
  const found = data.checkpoints.filter(({ name, description }) => `${name}\n${description}`.toLowerCase().includes(words));
  const pinned = found.filter((checkpoint) => checkpoint.pinned);
  const others = found.filter((checkpoint) => !checkpoint.pinned);
  const row = (checkpoint) =>
    h(Checkpoint, { key: checkpoint.id, checkpoint, ago: relativeTime(checkpoint.time, now), act });
  const isBare = data.checkpoints.length === 0 && !saving.wish;
  const isHereOpen = !isBare && !isHereMarked && !saving.wish && !words;
  return h(
    "div",
    { className: "timeline-scroll", ref: scroll, tabIndex: 0, role: "region", "aria-label": "Checkpoints" },
    isBare && h(NoCheckpoints),
    words && found.length === 0 && h("p", { className: "pane-empty" }, "No checkpoint has these words."),
    pinned.length > 0 && h("h3", { className: "timeline-heading" }, "Pinned"),
    pinned.length > 0 && h("ol", { className: "track" }, pinned.map(row)),
    pinned.length > 0 && others.length > 0 && h("h3", { className: "timeline-heading" }, "Others"),
    others.length > most &&
      h(
        "button",
        { type: "button", className: "text-button", onClick: () => setMost(most + WINDOW) },
        `Show earlier (${others.length - most})`,
      ),
    h("ol", { className: "track" }, others.slice(-most).map(row), saving.wish && h(SavingRow, { saving }), isHereOpen && h(HereRow)),
  );
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
      h("p", { className: "place-name" }, saving.wish.name || "Checkpoint"),
      saving.isLate
        ? h("p", { className: "place-meta" }, "Not saved yet: the server does not answer.")
        : h("p", { className: "place-meta" }, h("span", { className: "spinner" }), "Saving…"),
      saving.isLate && h("button", { type: "button", className: "quiet-button", onClick: saving.again }, "Try again"),
    ),
  );
}
