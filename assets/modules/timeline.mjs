/** The checkpoints of the conversation, the current place among them, and its branches. */
import { useActions } from "./actions.mjs";
import { Branches } from "./branches.mjs";
import { Checkpoint, isMilestone } from "./checkpoint.mjs";
import { useNow } from "./clock.mjs";
import { BACK, useOffer } from "./commands.mjs";
import { count, relativeTime } from "./format.mjs";
import { icon } from "./icons.mjs";
import { CheckpointForm, SaveButton, useSaveKey, useSaving } from "./saving.mjs";
import { PaneHead } from "./sheet.mjs";
import { closeSheets, openSheet } from "./shell.mjs";
import { say } from "./toast.mjs";

const { createElement: h, useCallback, useEffect, useRef, useState } = window.React;
const { createPortal, flushSync } = window.ReactDOM;

const FEW = 8; // checkpoints that need no search
const WINDOW = 200; // of them at first, the newest, and more that each "Show earlier" brings
const NOT_COMPARING = { Compare: null, place: null };
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
  const [isOnlyMilestones, setOnlyMilestones] = useState(false);
  const saving = useSaving(props.data, act);
  const comparing = useComparing(data.thread);
  useEffect(() => {
    setNaming(false);
    setSought("");
    setOnlyMilestones(false);
  }, [data.thread]);

  const milestones = data.checkpoints.filter(isMilestone);
  const isMixed = milestones.length > 0 && milestones.length < data.checkpoints.length;
  const words = data.checkpoints.length > FEW ? sought.trim().toLowerCase() : "";
  const found = (isMixed && isOnlyMilestones ? milestones : data.checkpoints).filter(({ name, description }) =>
    `${name}\n${description}`.toLowerCase().includes(words),
  );
  const stepping = useStepping(found, data.thread);
  const onShow = useCallback((checkpoint) => {
    closeSheets(); // on a narrow screen the place would stay behind it
    stepping.show(checkpoint);
  }, [stepping.show]);

  const openForm = () => {
    if (data.save.enabled) {
      openSheet("timeline");
      setNaming(true);
    } else if (data.save.reason) say(data.save.reason);
  };
  useSaveKey(openForm);
  useOffer("timeline", () => commands(data, act, openForm, comparing.start));
  const closeForm = () => {
    setNaming(false);
    // The form is gone with its focus: give it back to the button that stands there again.
    requestAnimationFrame(() => document.querySelector('[data-testid="save"]')?.focus());
  };

  return h(
    "div",
    { id: props.id, className: "timeline" },
    h(
      PaneHead,
      { title: "Timeline", id: "timeline-heading" },
      data.checkpoints.length > 0 &&
        h(
          "div",
          { className: "steps" },
          isMixed &&
            h(
              "button",
              { type: "button", className: "text-button", "aria-pressed": isOnlyMilestones, onClick: () => setOnlyMilestones(!isOnlyMilestones) },
              "Milestones",
            ),
          h(Step, { name: "Previous checkpoint", sign: "arrow-up", keys: "ArrowUp", onStep: stepping.back }),
          h(Step, { name: "Next checkpoint", sign: "arrow-down", keys: "ArrowDown", onStep: stepping.forward }),
        ),
    ),
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
    data.save.enabled && h(Tokens, { key: `tokens-${data.thread}`, data, onShow }),
    data.branches.length > 1 && h(Branches, { branches: data.branches, act, onCompare: comparing.start }),
    data.checkpoints.length > FEW && h(Search, { sought, onSeek: setSought }),
    h(Track, { key: data.thread, data, found, words, saving, act, stepping, onShow, onCompare: comparing.start }),
    comparing.Compare &&
      createPortal(h(comparing.Compare, { key: comparing.place, data, place: comparing.place, act, onClose: comparing.end }), document.body),
  );
}

/** What the palette lists of the timeline. @returns {import("./commands.mjs").Command[]} */
function commands({ checkpoints, branches, save }, act, onSave, onCompare) {
  const newest = [...checkpoints].reverse();
  const others = branches.filter(({ current }) => !current);
  const apart = [...others.map(({ id }) => `branch:${id}`), ...newest.filter(({ here }) => !here).map(({ id }) => `checkpoint:${id}`)];
  const place = (group, { name, messages }, run) => ({ group, name, detail: count(messages, "message"), run });
  return [
    ...(save.enabled ? [{ group: "Actions", name: "Save checkpoint", run: onSave }] : []),
    ...(apart.length > 0 ? [{ group: "Actions", name: "Compare", run: () => onCompare(apart[0]) }] : []),
    ...newest.map((checkpoint) => place(BACK, checkpoint, () => act("restore", { checkpoint: checkpoint.id }))),
    ...others.map((branch) => place("Branches", branch, () => act("switch", { branch: branch.id }))),
  ];
}

/**
 * Two places side by side, once somebody asks for that.
 * @returns {{Compare: Function|null, place: string|null, start: (place: string) => void, end: () => void}}
 */
function useComparing(thread) {
  const [{ Compare, place }, setShown] = useState(NOT_COMPARING);
  const latest = useRef(thread);
  latest.current = thread;
  const end = useCallback(() => setShown(NOT_COMPARING), []);
  useEffect(end, [thread]);
  const start = useCallback((wanted) => {
    const asked = latest.current;
    import("./later/compare.mjs").then(
      (module) => latest.current === asked && setShown({ Compare: module.Compare, place: wanted }),
      () => say("The two could not be compared; please try again."),
    );
  }, []);
  return { Compare, place, start, end };
}

/**
 * Going through the checkpoints one by one, in the order of the conversation: the transcript shows each place, and nothing moves.
 * After the last one comes where the conversation stands.
 * @param {import("./checkpoint.mjs").CheckpointView[]} checkpoints
 * @returns {{selected: string|null, show: Function, back: Function|null, forward: Function|null}}
 */
function useStepping(checkpoints, thread) {
  const [selected, setSelected] = useState(null);
  useEffect(() => setSelected(null), [thread]);
  const show = useCallback((checkpoint) => {
    setSelected(checkpoint?.id ?? null);
    const message = checkpoint?.message ?? null;
    if (checkpoint && message === null) say(`${checkpoint.name} is not on the way to here. Restore it to see its messages.`);
    else document.dispatchEvent(new CustomEvent("waymark-show", { detail: { message } }));
  }, []);

  const places = [...checkpoints].sort((one, other) => one.messages - other.messages);
  const at = places.findIndex(({ id }) => id === selected);
  const here = places.findIndex((place) => place.here);
  const now = at >= 0 ? at : here >= 0 ? here : places.length;
  const back = now > 0 ? () => show(places[now - 1]) : null;
  const forward = at >= 0 ? () => show(places[now + 1] ?? null) : null;
  useStepKeys(back, forward);
  return { selected, show, back, forward };
}

/** Alt with the arrow keys; not in a field with text, where they move the caret. */
function useStepKeys(back, forward) {
  const latest = useRef({});
  latest.current = { ArrowUp: back, ArrowDown: forward };
  useEffect(() => {
    const onKeyDown = (event) => {
      const isOther = !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || document.querySelector(".modal.show");
      if (isOther || event.target.value || !(event.key in latest.current)) return;
      event.preventDefault();
      flushSync(() => latest.current[event.key]?.());
      document.querySelector('.checkpoint.selected [data-testid="restore"]')?.focus({ preventScroll: true });
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** @param {{name: string, sign: string, keys: string, onStep: Function|null}} props */
function Step({ name, sign, keys, onStep }) {
  return h(
    "button",
    {
      type: "button",
      className: "icon-button",
      "aria-label": name,
      "aria-disabled": onStep === null, // not disabled: the button that was pressed would lose the focus
      "aria-keyshortcuts": `Alt+${keys}`,
      title: `${name} (Alt+${keys === "ArrowUp" ? "↑" : "↓"})`,
      onClick: () => onStep?.(),
    },
    icon(sign),
  );
}

/** The plot of tokens, folded: it is read when somebody opens it. */
function Tokens({ data, onShow }) {
  const [Growth, setGrowth] = useState(null);
  const [isOpen, setOpen] = useState(false);
  const onToggle = (event) => {
    setOpen(event.currentTarget.open);
    if (Growth || !event.currentTarget.open) return;
    import("./later/growth.mjs").then((module) => setGrowth(() => module.Growth), () => say("The plot could not be shown; please try again."));
  };
  return h(
    "details",
    { className: "timeline-tokens", onToggle },
    h("summary", null, icon("chevron-right", "tool-fold"), "Tokens over the conversation"),
    isOpen && Growth && h(Growth, { data, onShow }),
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
function Track({ data, found, words, saving, act, stepping, onShow, onCompare }) {
  const now = useNow();
  const scroll = useRef(null);
  const [most, setMost] = useState(WINDOW);
  const lastId = data.checkpoints.at(-1)?.id;
  const isHereMarked = data.checkpoints.some((checkpoint) => checkpoint.here);
  useEffect(() => {
    const place = scroll.current.querySelector(".here");
    place?.scrollIntoView({ block: "nearest" });
  }, [data.thread, lastId, isHereMarked]);
  const { selected } = stepping;
  useEffect(() => {
    const [view, row] = [scroll.current, scroll.current.querySelector(".selected")].map((each) => each?.getBoundingClientRect());
    if (row && row.top < view.top) scroll.current.scrollTop += row.top - view.top;
    if (row && row.bottom > view.bottom) scroll.current.scrollTop += row.bottom - view.bottom;
  }, [selected]);

  const pinned = found.filter((checkpoint) => checkpoint.pinned);
  const others = found.filter((checkpoint) => !checkpoint.pinned);
  const place = others.findIndex(({ id }) => id === selected);
  const seen = place < 0 ? most : Math.max(most, others.length - place);
  const row = (checkpoint) =>
    h(Checkpoint, {
      key: checkpoint.id,
      checkpoint,
      ago: relativeTime(checkpoint.time, now),
      act,
      selected: checkpoint.id === selected,
      onShow,
      onCompare,
    });
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
    others.length > seen &&
      h(
        "button",
        { type: "button", className: "text-button", onClick: () => setMost(seen + WINDOW) },
        `Show earlier (${others.length - seen})`,
      ),
    h("ol", { className: "track" }, others.slice(-seen).map(row), saving.wish && h(SavingRow, { saving }), isHereOpen && h(HereRow)),
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
