/** The history: the conversation's checkpoints, its current position, and its branches. */
import { useActions } from "../lib/actions.mjs";
import { GO_BACK, useCommands } from "../lib/commands.mjs";
import { formatCount } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { lazy } from "../lib/lazy.mjs";
import { showToast } from "../lib/toast.mjs";
import { PaneHead } from "../page/pane-head.mjs";
import { closeSheets, openSheet } from "../page/shell.mjs";
import { Branches, useBranches } from "./branches.mjs";
import { CheckpointForm } from "./checkpoint-form.mjs";
import { isMilestone } from "./checkpoint.mjs";
import { useCheckpoints, useLastReply } from "./earlier-checkpoints.mjs";
import { SaveButton, useSaveKey, useSaving } from "./saving.mjs";
import { Step, useStepping } from "./stepping.mjs";
import { Track } from "./track.mjs";

const { createElement: h, useCallback, useEffect, useState } = window.React;
const { createPortal } = window.ReactDOM;

const MAX_UNSEARCHED_CHECKPOINTS = 8; // with more, the search is shown
const EMPTY_HISTORY = { thread: null, checkpoints: [], checkpoint_count: 0, branches: [], branch_count: 0, save: { enabled: false, reason: null } };
const Compare = lazy(() => import("./compare.lazy.mjs"), "Compare", "The comparison could not be shown. Please try again.");
const Growth = lazy(() => import("./growth.lazy.mjs"), "Growth", "The plot could not be loaded. Please try again.");

/**
 * @param {{id: string, data?: import("../lib/types.mjs").HistoryData, reply?: import("../lib/types.mjs").BranchPortion,
 *   setProps: Function}} props
 */
export function History(props) {
  const act = useActions(props);
  const brought = props.data ?? EMPTY_HISTORY;
  const { branches, showEarlier } = useBranches(brought, useLastReply(props.reply, "branches"), act);
  const earlier = useCheckpoints(brought, useLastReply(props.reply, "checkpoints"), act);
  const data = { ...brought, branches, checkpoints: earlier.checkpoints };
  const saving = useSaving(props.data, act);
  const comparing = useComparing(data.thread);
  const search = useSearch(data, earlier.search);
  const stepping = useStepping(search.matches, data.thread);
  const form = useForm(data);
  const onShow = useCallback((checkpoint) => {
    closeSheets(); // on a narrow screen the sheet would cover the message
    stepping.show(checkpoint);
  }, [stepping.show]);
  useCommands("history", () => listHistoryCommands(data, act, form.open, comparing.start, earlier));

  return h(
    "div",
    { id: props.id, className: "history" },
    h(PaneHead, { title: "History", id: "history-heading" }, data.checkpoints.length > 0 && h(Steps, { search, stepping })),
    h("div", { className: "history-save" }, h(SaveControl, { data, form, saving })),
    data.save.enabled && h(TokenPlot, { key: `tokens-${data.thread}`, data, onShow }),
    data.branch_count > 1 && h(Branches, { data, act, onCompare: comparing.start, onEarlier: showEarlier }),
    data.checkpoints.length > MAX_UNSEARCHED_CHECKPOINTS && h(Search, { query: search.query, onQuery: search.setQuery }),
    h(Track, { key: data.thread, data, matches: search.matches, words: search.words, saving, act, stepping, earlier, onShow, onCompare: comparing.start }),
    comparing.place !== null &&
      createPortal(h(Compare, { key: comparing.place, data, place: comparing.place, act, onClose: comparing.end }), document.body),
  );
}

/** Filter the checkpoints by words, or to milestones only. */
function useSearch({ thread, checkpoints }, searchEarlier) {
  const [query, setQuery] = useState("");
  const [isOnlyMilestones, setOnlyMilestones] = useState(false);
  useEffect(() => {
    setQuery("");
    setOnlyMilestones(false);
  }, [thread]);
  const milestones = checkpoints.filter(isMilestone);
  const isMixed = milestones.length > 0 && milestones.length < checkpoints.length;
  const words = checkpoints.length > MAX_UNSEARCHED_CHECKPOINTS ? query.trim().toLowerCase() : "";
  useEffect(() => searchEarlier(words), [words]);
  const hasWords = ({ name, description }) => `${name}\n${description}`.toLowerCase().includes(words);
  const matches = (isMixed && isOnlyMilestones ? milestones : checkpoints).filter(hasWords);
  return { query, setQuery, words, matches, isMixed, isOnlyMilestones, toggleMilestones: () => setOnlyMilestones(!isOnlyMilestones) };
}

/** Open and close the form for a new checkpoint: by its button, its key or the palette. */
function useForm({ thread, save }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [thread]);
  const open = () => {
    if (save.enabled) {
      openSheet("history");
      setOpen(true);
    } else if (save.reason) showToast(save.reason);
  };
  useSaveKey(open);
  const close = () => {
    setOpen(false);
    // The closed form took the focus with it: return the focus to the button that replaces it.
    requestAnimationFrame(() => document.querySelector('[data-testid="save"]')?.focus());
  };
  return { isOpen, open, close };
}

function SaveControl({ data, form, saving }) {
  const onSave = (name, description) => {
    form.close();
    saving.save({ name, description });
  };
  return form.isOpen
    ? h(CheckpointForm, { title: "Save checkpoint", onSave, onCancel: form.close })
    : h(SaveButton, { save: data.save, onClick: form.open });
}

function Steps({ search, stepping }) {
  const { isMixed, isOnlyMilestones, toggleMilestones } = search;
  return h(
    "div",
    { className: "steps" },
    isMixed && h("button", { type: "button", className: "text-button", "aria-pressed": isOnlyMilestones, onClick: toggleMilestones }, "Milestones"),
    h(Step, { name: "Previous checkpoint", sign: "arrow-up", keys: "ArrowUp", onStep: stepping.stepBack }),
    h(Step, { name: "Next checkpoint", sign: "arrow-down", keys: "ArrowDown", onStep: stepping.stepForward }),
  );
}

/** List the history's commands for the palette. @returns {import("../lib/types.mjs").Command[]} */
function listHistoryCommands({ checkpoints, branches, save }, act, onSave, onCompare, { hidden, showEarlier }) {
  const newest = [...checkpoints].reverse();
  const others = branches.filter(({ current }) => !current);
  const comparable = [...others.map(({ id }) => `branch:${id}`), ...newest.filter(({ here }) => !here).map(({ id }) => `checkpoint:${id}`)];
  const place = (group, { name, messages }, run) => ({ group, name, detail: formatCount(messages, "message"), run });
  return [
    ...(save.enabled ? [{ group: "Actions", name: "Save checkpoint", run: onSave }] : []),
    ...(comparable.length > 0 ? [{ group: "Actions", name: "Compare", run: () => onCompare(comparable[0]) }] : []),
    ...newest.map((checkpoint) => place(GO_BACK, checkpoint, () => act("restore", { checkpoint: checkpoint.id }))),
    ...(hidden > 0 ? [{ group: GO_BACK, name: "Show earlier checkpoints", detail: formatCount(hidden, "checkpoint"), run: () => (openSheet("history"), showEarlier()) }] : []),
    ...others.map((branch) => place("Branches", branch, () => act("switch", { branch: branch.id }))),
  ];
}

/**
 * Open and close the comparison of two positions.
 * @returns {{place: string|null, start: (place: string) => void, end: () => void}}
 */
function useComparing(thread) {
  const [place, start] = useState(null);
  const end = useCallback(() => start(null), []);
  useEffect(end, [thread]);
  return { place, start, end };
}

/** The plot of tokens in a fold. It is fetched when the fold opens. */
function TokenPlot({ data, onShow }) {
  const [isOpen, setOpen] = useState(false);
  return h(
    "details",
    { className: "history-tokens", onToggle: (event) => setOpen(event.currentTarget.open) },
    h("summary", null, icon("chevron-right", "tool-fold"), "Tokens over the conversation"),
    isOpen && h(Growth, { data, onShow }),
  );
}

function Search({ query, onQuery }) {
  return h("input", {
    type: "search",
    className: "form-control history-search",
    placeholder: "Search checkpoints",
    "aria-label": "Search checkpoints",
    value: query,
    onChange: (event) => onQuery(event.target.value),
  });
}
