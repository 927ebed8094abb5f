/** The checkpoints of the conversation, the current place among them, and its branches. */
import { useActions } from "./actions.mjs";
import { useNow } from "./clock.mjs";
import { count, fullTime, relativeTime } from "./format.mjs";
import { icon } from "./icons.mjs";
import { SaveButton, SaveForm, useSaveKey, useSaving } from "./saving.mjs";
import { PaneHead } from "./sheet.mjs";
import { openSheet } from "./shell.mjs";

const { createElement: h, useEffect, useRef, useState } = window.React;

const MAKERS = {
  user: { sign: "person", text: "Saved by you" },
  agent: { sign: "robot", text: "Saved by the agent" },
  judge: { sign: "shield-check", text: "Saved by the judge" },
  system: { sign: "gear", text: "Saved by Waymark" },
};

/**
 * @typedef {{id: string, name: string, description: string, created_by: "user"|"agent"|"judge"|"system", time: string,
 *   messages: number, tokens: number|null, here: boolean}} CheckpointView
 * @typedef {{thread: string|null, version: number, checkpoints: CheckpointView[],
 *   branches: {id: string, name: string, current: boolean, messages: number}[],
 *   save: {enabled: boolean, reason: string|null}}} TimelineData
 * @param {{id: string, data?: TimelineData, setProps: Function}} props
 */
export function Timeline(props) {
  const data = props.data ?? { thread: null, checkpoints: [], branches: [], save: { enabled: false, reason: null } };
  const act = useActions(props);
  const now = useNow();
  const [isNaming, setNaming] = useState(false);
  const saving = useSaving(props.data, act);
  useEffect(() => setNaming(false), [data.thread]);

  const openForm = () => {
    if (!data.save.enabled) return;
    openSheet("timeline");
    setNaming(true);
  };
  useSaveKey(openForm);

  return h(
    "div",
    { id: props.id, className: "timeline" },
    h(PaneHead, { title: "Timeline", id: "timeline-heading" }),
    h(
      "div",
      { className: "timeline-save" },
      isNaming
        ? h(SaveForm, {
            onSave: (name, description) => {
              setNaming(false);
              saving.start({ name, description });
            },
            onCancel: () => setNaming(false),
          })
        : h(SaveButton, { save: data.save, onClick: openForm }),
    ),
    data.branches.length > 1 && h(Branches, { branches: data.branches, onSwitch: (branch) => act("switch", { branch }) }),
    h(Track, {
      data,
      now,
      saving,
      onRestore: (checkpoint) => act("restore", { checkpoint }),
      onDelete: (checkpoint) => act("delete", { checkpoint }),
    }),
  );
}

function Branches({ branches, onSwitch }) {
  return h(
    "div",
    { className: "branches", role: "group", "aria-label": "Branches" },
    branches.map((branch) =>
      h(
        "button",
        {
          key: branch.id,
          type: "button",
          className: "branch",
          "data-testid": "branch",
          "aria-pressed": branch.current,
          onClick: () => !branch.current && onSwitch(branch.id),
        },
        icon("diagram-2"),
        h("span", { className: "branch-name" }, branch.name),
        h("span", { className: "branch-count" }, count(branch.messages, "message")),
      ),
    ),
  );
}

/** The line with its marks, oldest first; it ends where the conversation stands. */
function Track({ data, now, saving, onRestore, onDelete }) {
  const scroll = useRef(null);
  const lastId = data.checkpoints.at(-1)?.id;
  const isHereMarked = data.checkpoints.some((checkpoint) => checkpoint.here);
  useEffect(() => {
    const place = scroll.current.querySelector(".here");
    place?.scrollIntoView({ block: "nearest" });
  }, [data.thread, lastId, isHereMarked]);

  const isBare = data.checkpoints.length === 0 && !saving.wish;
  return h(
    "div",
    { className: "timeline-scroll", ref: scroll, tabIndex: 0, role: "region", "aria-label": "Checkpoints" },
    isBare && h(NoCheckpoints),
    !isBare &&
      h(
        "ol",
        { className: "track" },
        data.checkpoints.map((checkpoint) =>
          h(Checkpoint, { key: checkpoint.id, checkpoint, now, onRestore, onDelete }),
        ),
        saving.wish && h(SavingRow, { saving }),
        !isHereMarked && !saving.wish && h(HereRow),
      ),
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

/** @param {{checkpoint: CheckpointView, now: number, onRestore: Function, onDelete: Function}} props */
function Checkpoint({ checkpoint, now, onRestore, onDelete }) {
  const maker = MAKERS[checkpoint.created_by];
  const figures = [count(checkpoint.messages, "message")];
  if (checkpoint.tokens) figures.push(count(checkpoint.tokens, "token"));
  return h(
    "li",
    {
      className: `place checkpoint${checkpoint.here ? " here" : ""}`,
      "data-testid": "checkpoint",
      "data-checkpoint-id": checkpoint.id,
      "aria-current": checkpoint.here ? "location" : undefined,
    },
    h("span", { className: "mark", "aria-hidden": true }),
    h(
      "div",
      { className: "place-head" },
      h("p", { className: "place-name", title: checkpoint.name }, checkpoint.name),
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
          onClick: () => onRestore(checkpoint.id),
        },
        "Restore",
      ),
      h(
        "button",
        {
          type: "button",
          className: "icon-button",
          "data-testid": "delete",
          "aria-label": `Delete ${checkpoint.name}`,
          title: `Delete ${checkpoint.name}`,
          onClick: () => onDelete(checkpoint.id),
        },
        icon("trash3"),
      ),
    ),
    h(
      "div",
      { className: "place-details" },
      checkpoint.description && h("p", { className: "place-description" }, checkpoint.description),
      h(
        "p",
        { className: "place-meta" },
        h("span", { className: "place-maker", title: maker.text }, icon(maker.sign), h("span", { className: "visually-hidden" }, maker.text)),
        h("time", { dateTime: checkpoint.time, title: fullTime(checkpoint.time) }, relativeTime(checkpoint.time, now)),
        figures.map((figure) => h("span", { key: figure }, figure)),
      ),
    ),
  );
}
