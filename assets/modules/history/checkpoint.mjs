/** One checkpoint of the track: its name, its figures and its actions. */
import { AUTHORS } from "../lib/authors.mjs";
import { formatCount, formatDateTime } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { showToast } from "../lib/toast.mjs";
import { fetchWholeText, ShowAll } from "../message/show-all.mjs";
import { CheckpointForm } from "./checkpoint-form.mjs";

const { Fragment, createElement: h, memo, useRef, useState } = window.React;

/**
 * @typedef {{checkpoint: CheckpointView, ago: string, act: Function, selected: boolean, onShow: (checkpoint: CheckpointView) => void,
 *   onCompare: (place: string) => void}} Props
 */

/** Return whether the judge saved the checkpoint by itself. */
export const isMilestone = (checkpoint) => checkpoint.created_by === "judge";

/** Every answer brings all checkpoints as new objects. Of a thousand, only changed ones are rendered again. */
const isSameCheckpoint = (one, other) =>
  one.ago === other.ago && one.selected === other.selected && JSON.stringify(one.checkpoint) === JSON.stringify(other.checkpoint);

/** @param {Props} props */
function CheckpointRow({ checkpoint, ago, act, selected, onShow, onCompare }) {
  const [renamed, setRenamed] = useState(null); // the checkpoint with its whole description
  const row = useRef(null);
  const close = () => {
    setRenamed(null);
    // The closed form took the focus with it: return the focus to the button that replaces it.
    requestAnimationFrame(() => row.current?.querySelector(".rename")?.focus());
  };
  const onSave = (name, description) => {
    if (name !== renamed.name || description !== renamed.description) act("change", { checkpoint: checkpoint.id, name, description });
    close();
  };
  const onRename = async () => {
    const description = await fetchWholeText({ text: checkpoint.description, more: checkpoint.more });
    if (description === null) showToast("The description cannot be read right now.");
    else setRenamed({ name: checkpoint.name, description });
  };
  const classes = ["place", "checkpoint", checkpoint.here && "here", isMilestone(checkpoint) && "milestone", selected && "selected"];
  const onClick = (event) => {
    if (event.target.closest("button, form") === null && getSelection().isCollapsed) onShow(checkpoint);
  };
  return h(
    "li",
    {
      ref: row,
      className: classes.filter(Boolean).join(" "),
      onClick,
      "data-testid": "checkpoint",
      "data-checkpoint-id": checkpoint.id,
      "aria-current": checkpoint.here ? "location" : undefined,
    },
    h("span", { className: "mark", "aria-hidden": true }),
    renamed
      ? h(CheckpointForm, { title: "Rename checkpoint", checkpoint: renamed, onSave, onCancel: close })
      : h(CheckpointSummary, { checkpoint, ago, act, selected, onShow, onCompare, onRename }),
  );
}

export const Checkpoint = memo(CheckpointRow, isSameCheckpoint);

/** @param {Props & {onRename: () => void}} props */
function CheckpointSummary({ checkpoint, ago, act, selected, onShow, onCompare, onRename }) {
  const show = { type: "button", className: "place-jump", "aria-pressed": selected, onClick: () => onShow(checkpoint) };
  return h(
    Fragment,
    null,
    h(
      "div",
      { className: "place-head" },
      h("p", { className: "place-name", title: checkpoint.name }, h("button", show, checkpoint.name)),
      checkpoint.here && h("span", { className: "here-label" }, "you are here"),
    ),
    h(
      "div",
      { className: "place-buttons" },
      h(
        "button",
        {
          type: "button",
          className: "quiet-button",
          "data-testid": "restore",
          "aria-label": `Restore ${checkpoint.name}`,
          onClick: () => act("restore", { checkpoint: checkpoint.id }),
        },
        "Restore",
      ),
    ),
    h(
      "div",
      { className: "place-details" },
      checkpoint.description && h("p", { className: "place-description" }, checkpoint.description),
      h(ShowAll, { more: checkpoint.more }),
      h(CheckpointFigures, { checkpoint, ago }),
      h(CheckpointTools, { checkpoint, act, onCompare, onRename }),
    ),
  );
}

function CheckpointFigures({ checkpoint, ago }) {
  const author = AUTHORS[checkpoint.created_by];
  const saved = `Saved by ${author.name}`;
  const figures = [formatCount(checkpoint.messages, "message")];
  if (checkpoint.tokens) figures.push(formatCount(checkpoint.tokens, "token"));
  return h(
    "p",
    { className: "place-meta" },
    h(
      "span",
      { className: "place-maker", title: saved },
      isMilestone(checkpoint) && h("span", { className: "milestone-label" }, "Milestone "),
      icon(author.sign),
      h("span", { className: "visually-hidden" }, saved),
    ),
    h("time", { dateTime: checkpoint.time, title: formatDateTime(checkpoint.time) }, ago),
    figures.map((figure) => h("span", { key: figure }, figure)),
  );
}

function CheckpointTools({ checkpoint, act, onCompare, onRename }) {
  const { id, name, pinned } = checkpoint;
  const tool = (label, sign, onClick, more = {}) =>
    h("button", { type: "button", className: "icon-button", "aria-label": label, title: label, onClick, ...more }, icon(sign));
  const pin = pinned ? `Unpin ${name}` : `Pin ${name}`;
  return h(
    "div",
    { className: "row-tools" },
    tool(`Branch from ${name}`, "diagram-2", () => act("fork", { checkpoint: id }), { "data-testid": "fork" }),
    !checkpoint.here && tool(`Compare ${name} with the current position`, "layout-split", () => onCompare(`checkpoint:${id}`), { "data-testid": "compare" }),
    tool(pin, pinned ? "pin-angle-fill" : "pin-angle", () => act("change", { checkpoint: id, pinned: !pinned })),
    tool(`Rename ${name}`, "pencil", onRename, { className: "icon-button rename" }),
    tool(`Delete ${name}`, "trash3", () => act("delete", { checkpoint: id }), { "data-testid": "delete" }),
  );
}
