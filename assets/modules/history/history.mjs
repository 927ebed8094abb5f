/** History: the tree of the conversation with its branches, checkpoints and moves, and the card of the selected place. */
import { setProperties } from "../browser/properties.mjs";
import { button } from "../controls/buttons.mjs";
import { GO_BACK, RUN_AGAIN_COMMAND, useCommands } from "../controls/commands.mjs";
import { icon } from "../controls/icons.mjs";
import { Tip, useEndOfTips } from "../controls/tips.mjs";
import { showToast } from "../controls/toast.mjs";
import { comparePlace, runAgain, showState } from "../dialogs/places.mjs";
import { PaneHead, closeSheets, isNarrow, showPane } from "../page/panes.mjs";
import { useActions } from "../state/actions.mjs";
import { isGoing } from "../state/chosen-thread.mjs";
import { followRequests } from "../state/history-requests.mjs";
import { formatCount } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { Filters, useFilter, usePortion } from "./filters.mjs";
import { Growth } from "./growth.mjs";
import { HistoryList } from "./history-list.mjs";
import { nameBranch } from "./history-row.mjs";
import { NO_LAYOUT, layOutHistory } from "./layout.mjs";
import { AT_PLACE, explainNoRestore, listPlaceActions } from "./place-actions.mjs";
import { PlaceCard } from "./place-card.mjs";
import { NewCheckpoint, SAVE_KEYS, SaveButton, SavingRow, useForm, useSaving } from "./saving.mjs";
import { useOpening, listSteps, useSelection } from "./selection.mjs";

const { createElement: h, useCallback, useEffect, useMemo, useRef, useState } = window.React;

/** @type {import("../state/types.mjs").HistoryData} */
const EMPTY_HISTORY = {
  thread: null, version: 0, checkpoints: [], checkpoint_count: 0, branches: [], branch_count: 0, segments: [],
  elsewhere: [], moves: [], alternatives: [], removed: null, has_states: false, read_only: null,
  save: { enabled: false, reason: null },
};
const CURRENT_POSITION = "";
const NOTHING_THERE = _("There is no conversation yet.");
const ACTION_KEYS = { r: "restore", b: "fork", c: "compare", s: "switchTo" };

/**
 * @param {{id: string, data?: import("../state/types.mjs").HistoryData, reply?: import("../state/types.mjs").HistoryPortion,
 *   setProps: Function}} props
 */
export function History(props) {
  const act = useActions(props);
  const portion = usePortion(props.data ?? EMPTY_HISTORY, props.reply, act);
  const { data } = portion;
  const filter = useFilter(data, portion.search);
  const layout = useMemo(() => layOutHistory(data, filter.value), [data, filter.value]);
  const saving = useSaving(props.id, data);
  const selection = useSelection(layout, data.thread);
  const form = useForm(data);
  useBranchName(data);
  useEndOfTips(data.checkpoint_count);
  const opening = useOpening(layout, selection, filter, portion);
  followRequests({ open: opening.open, save: form.open });
  useCommands("history", () => listHistoryCommands(data, act, form.open, saving.save, portion, selection));
  return h(
    "div",
    { id: props.id, className: "history" },
    h(PaneHead, { title: _("History"), id: "history-heading" },
      !form.place && h(SaveButton, { save: data.save, onClick: () => form.open() })),
    form.place && h(NewCheckpoint, { form, saving, others: [...data.checkpoints, ...data.elsewhere] }),
    !data.read_only && h(Tip, { name: "history" }),
    data.save.enabled && h(TokenPlot, { key: `tokens-${data.thread}`, data, layout, selection }),
    h(Filters, { filter }),
    h(Places, { key: data.thread, data, layout, filter, saving, act, selection, opening, portion }),
  );
}

/** Name the current branch in the bar, and show the conversation on another one: a sheet would cover it. */
function useBranchName({ thread, branches }) {
  const { id, messages, ...current } = branches.find((branch) => branch.current) ?? {};
  const name = nameBranch(current);
  const before = useRef({});
  useEffect(() => {
    if (id && before.current.id && before.current.thread === thread) closeSheets();
    before.current = { thread, id };
  }, [thread, id]);
  useEffect(() => {
    const text = messages ? `${name} · ${formatCount(messages, "message")}` : "";
    setProperties({ "branch-chip": { children: text, title: text, hidden: text === "" } });
  }, [name, messages]);
}

/** The rows and the card of the selected one. */
function Places({ data, layout, filter, saving, act, selection, opening, portion: { hidden, showEarlier } }) {
  const { rows } = layout;
  const latest = useRef(null);
  const onShow = (row) => {
    closeSheets(); // on a narrow screen the sheet would cover the message
    selection.show(row);
  };
  latest.current = (row) => (isNarrow() ? selection.select(row.key) : onShow(row));
  const onPress = useCallback((row) => latest.current(row), []);
  const onKey = (key, row) => pressPlaceKey(key, row, rows, data, act);
  const isBare = hasNoPlaces(data);
  const selected = rows[layout.numbers.get(selection.selected)];
  const before = [
    isBare && saving.pending.length === 0 && h(NoCheckpoints, { key: "none", isReadOnly: Boolean(data.read_only) }),
    isFilteredAway(rows, filter.value) && h("p", { key: "empty", className: "pane-empty" }, _("No matching checkpoints.")),
    hidden > 0 &&
      !filter.value.words &&
      button("text-button", _("Show earlier ({hidden})", { hidden }), showEarlier, { key: "earlier" }),
  ];
  return [
    h(
      HistoryList,
      { key: "list", layout: isBare ? NO_LAYOUT : layout, data, selection, onPress, onKey, before },
      saving.pending.map((save) => h(SavingRow, { key: save.request_id, save, saving })),
    ),
    selected && h(PlaceCard, { key: "card", row: selected, rows, data, act, onShow, onClose: opening.close }),
  ];
}

/** Do what a key does at a place. @returns {boolean} whether it does something */
function pressPlaceKey(key, row, rows, data, act) {
  const name = ACTION_KEYS[key];
  if (!name || isGoing()) return false;
  const action = listPlaceActions(row, rows, data, act)[name];
  if (action) (action.run ?? action)();
  else if (data.read_only && name !== "compare") showToast(data.read_only);
  else if (name === "restore") showToast(explainNoRestore(row, rows));
  return true;
}

const hasNoPlaces = ({ checkpoints, branch_count: branchCount, moves, alternatives, removed }) =>
  checkpoints.length === 0 && branchCount < 2 && moves.length === 0 && alternatives.length === 0 && !removed;

const isFilteredAway = (rows, { words, kind: wanted }) =>
  (words !== "" || wanted !== "all") && rows.every(({ kind }) => kind !== "checkpoint");

/** List the history's commands for the palette. @returns {import("../state/types.mjs").Command[]} */
function listHistoryCommands(data, act, onOpenForm, onSave, { hidden, showEarlier }, selection) {
  const { save, has_states: hasStates, read_only: reason } = data;
  const { head, restorable, standing, switches, comparable } = listPlaceCommands(data, act);
  const onEarlier = () => (showPane("history"), showEarlier());
  const onStateHere = () => showState(CURRENT_POSITION);
  const saveNamed = (name) => (name ? (showPane("history"), onSave({ name, description: "" })) : onOpenForm());
  return [
    {
      group: _("Actions"), name: _("Save checkpoint"), word: "save", hint: _("name"), keys: SAVE_KEYS,
      offReason: save.enabled ? null : (save.reason ?? NOTHING_THERE), run: saveNamed,
    },
    {
      group: _("Actions"), name: _("Restore a checkpoint"), word: "restore",
      offReason: reason ?? (data.checkpoints.length > 0 ? null : _("There is no checkpoint to go back to.")),
      choices: () => [...restorable, ...standing],
    },
    {
      group: _("Actions"), name: _("Branch from here"), word: "branch", hint: _("name"),
      offReason: reason ?? (head ? null : NOTHING_THERE), run: (name = "") => act("fork", { message: head, name }),
    },
    {
      group: _("Actions"), name: _("Switch to a branch"), word: "switch",
      offReason: reason ?? (switches.length > 0 ? null : _("There is no other branch.")), choices: () => switches,
    },
    {
      group: _("Actions"), name: RUN_AGAIN_COMMAND, word: "again", offReason: reason ?? (head ? null : NOTHING_THERE),
      run: () => runAgain(CURRENT_POSITION),
    },
    ...(comparable.length > 0 ? [{ group: _("Actions"), name: _("Compare"), run: () => comparePlace(comparable[0]) }] : []),
    ...(hasStates ? [{ group: _("Actions"), name: _("State of the graph"), word: "state", run: onStateHere }] : []),
    ...listSteps(selection),
    ...restorable,
    ...(hidden > 0
      ? [{ group: GO_BACK, name: _("Show earlier checkpoints"), detail: formatCount(hidden, "checkpoint"), run: onEarlier }]
      : []),
    ...switches,
  ];
}

/** List what goes to a checkpoint or a branch. `head`: the last message; `comparable`: places as a comparison names them. */
function listPlaceCommands({ checkpoints, branches, read_only: reason }, act) {
  const newest = [...checkpoints].reverse();
  const changes = (list) => (reason ? [] : list);
  const others = branches.filter(({ current }) => !current);
  const comparable = [
    ...others.map(({ id }) => `branch:${id}`),
    ...newest.filter(({ here }) => !here).map(({ id }) => `checkpoint:${id}`),
  ];
  const place = (group, { name, messages }, run) => ({ group, name, detail: formatCount(messages, "message"), run });
  const goBack = (list) => changes(list)
    .map((checkpoint) => place(GO_BACK, checkpoint, () => act("restore", { checkpoint: checkpoint.id })));
  const restorable = goBack(newest.filter(({ stands }) => !stands));
  const standing = goBack(newest.filter(({ stands }) => stands)).map((each) => ({ ...each, offReason: AT_PLACE }));
  const switches = changes(others).map((branch) => place(_("Branches"), branch, () => act("switch", { branch: branch.id })));
  const head = branches.find(({ current }) => current)?.message;
  return { head, restorable, standing, switches, comparable };
}

/** The plot of tokens in a fold. It is fetched when the fold opens. */
function TokenPlot({ data, layout, selection }) {
  const [isOpen, setOpen] = useState(false);
  const onShow = ({ id }) => selection.show(layout.rows.find(({ key }) => key === `checkpoint:${id}`) ?? null);
  return h(
    "details",
    { className: "history-tokens", onToggle: (event) => setOpen(event.currentTarget.open) },
    h("summary", null, icon("chevron-right", "tool-fold"), _("Tokens over the conversation")),
    isOpen && h(Growth, { data, onShow }),
  );
}

function NoCheckpoints({ isReadOnly }) {
  return h("div", { className: "pane-empty" },
    icon("signpost-2"),
    h("p", null, isReadOnly
      ? _("No checkpoints yet.")
      : _("No checkpoints yet. Save one, and you can come back to this point whenever you like.")),
  );
}
