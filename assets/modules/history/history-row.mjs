/** One row of History: its name, the tokens up to it, and its time. */
import { icon } from "../controls/icons.mjs";
import { AUTHORS, formatCount, formatDateTime, formatShortTime } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { Fragment, createElement: h, memo } = window.React;

const MAX_BAR_WIDTH = 40;
const NUMBERED_NAME = /^Branch \d+$/;
const TEST_IDS = { checkpoint: "checkpoint", branch: "branch" };

/** Return whether the judge saved the checkpoint by itself. */
export const isMilestone = ({ kind, item }) => kind === "checkpoint" && item.value.created_by === "judge";

/**
 * @param {{row: import("./layout.mjs").HistoryRow, number: number, count: number, height: number, now: number,
 *   maxTokens: number, isSelected: boolean, isTabStop: boolean, hasBranches: boolean, onPress: (row: object) => void}} props
 */
function Row({ row, number, count, height, now, maxTokens, isSelected, isTabStop, hasBranches, onPress }) {
  const { kind, item, key, line, messages } = row;
  const value = item?.value;
  const isHere = item?.isHere ?? false;
  const classes = ["place", `place-${kind}`, `line-${line}`, item?.isMarked && "here", isMilestone(row) && "milestone",
    isSelected && "selected"];
  const isFold = kind === "checkpoint" && row.branch !== null; // of a checkpoint and the end of a branch
  const fullName = describeName(row, hasBranches);
  return h(
    "li",
    {
      className: classes.filter(Boolean).join(" "),
      style: { top: `${number * height}px`, height: `${height}px` },
      "data-key": key,
      "data-messages": messages,
      "data-testid": item?.isElsewhere && kind === "checkpoint" ? "checkpoint-elsewhere" : TEST_IDS[kind],
      "data-checkpoint-id": kind === "checkpoint" ? value.id : undefined,
      "data-branch-id": kind === "branch" ? value.id : undefined,
      "aria-current": item?.isMarked ? "location" : undefined,
      "aria-setsize": count,
      "aria-posinset": number + 1,
    },
    h(isFold ? "div" : Fragment, isFold ? describeFold(row) : null,
      h("button", { type: "button", className: "place-jump", tabIndex: isTabStop ? 0 : -1, "aria-pressed": isSelected,
        title: fullName, "aria-label": fullName, onClick: () => onPress(row) },
        h("span", { className: "place-name" }, isNamedByWords(row) ? quote(row) : nameRow(row, hasBranches))),
      value?.pinned && h("span", { className: "place-pin", title: _("Pinned") }, icon("pin-angle-fill"),
        h("span", { className: "visually-hidden" }, _("Pinned"))),
      h(Note, { row, isHere, hasBranches })),
    h(TokenBar, { tokens: row.tokens, maxTokens }),
    value?.time && h("time", { className: "place-time", dateTime: value.time, title: formatDateTime(value.time) },
      formatShortTime(value.time, now)),
  );
}

/** The part of a row that is the end of a branch as well. */
const describeFold = ({ branch, messages }) => ({
  className: "place-both", "data-testid": TEST_IDS.branch, "data-branch-id": branch.id, "data-messages": messages,
});

/** A turn brings all places as new objects. Of a thousand, only changed ones are rendered again. */
const isSameRow = ({ row, onPress: _onPress, ...one }, { row: otherRow, onPress: _otherOnPress, ...other }) =>
  Object.keys(one).every((name) => one[name] === other[name]) &&
  (row === otherRow || JSON.stringify(row) === JSON.stringify(otherRow));

export const HistoryRow = memo(Row, isSameRow);

/** The name of a branch, in the page's language if a restore gave it. @param {{name: string, given?: string}} branch */
export const nameBranch = ({ name, given }) => given || name;

const isUnnamed = ({ name, given }) => Boolean(given) || NUMBERED_NAME.test(name);

/**
 * Return whether the first words of a line stand for a row: of a branch, where no person has given it a name.
 * @param {import("./layout.mjs").HistoryRow} row
 */
const isNamedByWords = ({ kind, item, words }) =>
  words !== "" && (kind === "fork" || kind === "alternative" || (kind === "branch" && isUnnamed(item?.value)));

const quote = ({ words }) => _("“{text}”", { text: words });

/** The name where there is room for all of it, and for screen readers. */
function describeName(row, hasBranches) {
  if (row.kind === "move") return row.item?.value.full_name;
  const name = nameRow(row, hasBranches);
  return isNamedByWords(row) ? `${name} · ${quote(row)}` : name;
}

/** @param {import("./layout.mjs").HistoryRow} row @returns {string} */
export function nameRow({ kind, item, count, messages }, hasBranches) {
  const value = item?.value;
  if (kind === "checkpoint" || kind === "move") return value.name;
  if (kind === "branch") return hasBranches || !item?.isHere ? nameBranch(value) : _("You are here");
  if (kind === "removed") return _("{messages} removed", { messages: formatCount(value.count, "message") });
  if (kind === "alternative") return _("Alternative");
  if (kind === "fold") return formatCount(count, "message");
  return messages === 0 ? _("Beginning") : _("Message {messages}", { messages });
}

/** The words beside a name. */
function Note({ row, isHere, hasBranches }) {
  const { kind, item, branch } = row;
  const value = item?.value;
  const note = (text) => h("span", { className: "place-note" }, text);
  if (kind === "branch" && isHere && hasBranches)
    return h(Fragment, null, isNamedByWords(row) && note(nameBranch(value)), h(Here));
  if (kind === "branch" || kind === "alternative")
    return note(isNamedByWords(row) ? nameRow(row, hasBranches) : formatCount(value.messages, "message"));
  if (kind === "move")
    return h(
      "span",
      { className: "place-note", title: [value.left, value.saved_tokens].filter(Boolean).join(" · ") },
      value.saved ? h(Saving, { move: value }) : value.left,
    );
  if (kind !== "checkpoint") return null;
  const author = { judge: _("Judge"), agent: _("Agent") }[value.created_by];
  return [
    author &&
      h(
        "span",
        { key: "author", className: "place-note", title: _("Saved by {name}", { name: AUTHORS[value.created_by].name }) },
        author,
      ),
    isMilestone({ kind, item }) && h("span", { key: "milestone", className: "visually-hidden" }, _("Milestone")),
    isHere && h(Here, { key: "here" }),
    branch && h(BranchEnd, { key: "branch", branch, isHere }),
  ];
}

/** The words that never give way in their row. */
const Here = () => h("span", { className: "place-here" }, _("you are here"));

/** The branch that ends with a checkpoint. What it is besides its name is hidden where there is no room for all of it. */
const BranchEnd = ({ branch, isHere }) =>
  h("span", { className: "branch-end" },
    h("span", { className: "end-chip", title: nameBranch(branch) }, nameBranch(branch)),
    !isHere && h("span", { className: "place-note" }, formatCount(branch.messages, "message")));

/** "−9.4k": a row has no room for the unit. Screen readers find it. */
const Saving = ({ move: { saved, saved_tokens: tokens } }) =>
  h(Fragment, null, h("span", { "aria-hidden": true }, saved), h("span", { className: "visually-hidden" }, tokens));

/** Describe where a branch diverges from the current one, and how long it is. */
export function describeBranch({ current, messages, shared }) {
  if (current) return formatCount(messages, "message"); // the card's head says that one is there
  const from =
    shared === messages ? _("at message {messages}", { messages }) : _("from message {messages}", { messages: shared });
  return `${shared ? from : _("from the beginning")} · ${formatCount(messages, "message")}`;
}

function TokenBar({ tokens, maxTokens }) {
  if (!tokens) return null;
  const width = Math.max(2, Math.round((MAX_BAR_WIDTH * tokens) / Math.max(1, maxTokens)));
  return h(
    "span",
    { className: "place-bar", title: formatCount(tokens, "token") },
    h("span", { style: { width: `${width}px` } }),
  );
}
