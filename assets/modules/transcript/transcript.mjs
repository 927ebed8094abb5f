/** The conversation: history from `data`, the running answer from the socket. */
import { GO_BACK, useCommands } from "../controls/commands.mjs";
import { icon } from "../controls/icons.mjs";
import { Tip } from "../controls/tips.mjs";
import { runProseTool } from "../message/prose.mjs";
import { takeChoice, takeModels } from "../settings/settings.mjs";
import { useActions } from "../state/actions.mjs";
import { expectThread, useShownThread } from "../state/chosen-thread.mjs";
import { showTitle } from "../state/notices.mjs";
import { findDirection } from "../words/direction.mjs";
import { nameModelAmong } from "../words/format.mjs";
import { _, ngettext } from "../words/words.mjs";
import { Candidates } from "./candidate-cards.mjs";
import { leaveCandidates, pickCandidates } from "./candidates.mjs";
import { hasEndedBadly, hasRunEnd, listModels, mergeMessages, pickNewestRun } from "./conversation.mjs";
import { useEditing } from "./editing.mjs";
import { FindBar, useFinding } from "./find-bar.mjs";
import { useAnswers } from "./kept-answers.mjs";
import { useKeptEdit } from "./kept-edits.mjs";
import { Live, GraphProgress } from "./live.mjs";
import { Marks } from "./marks.mjs";
import { Message } from "./message.mjs";
import { NoticeBanner, Outcome, PrintNote, TimeEnd, RerunBanner } from "./outcome.mjs";
import { Questions } from "./questions.mjs";
import { useScrollToMessage } from "./scroll-to-message.mjs";
import { useFocusAfterEdit, useRunNotice, useScrollToChanges, useSpokenRun, useScrolling } from "./scrolling.mjs";
import { useStream } from "./stream.mjs";
import { useFirstScreen, Welcome } from "./welcome.mjs";

const { Fragment, createElement: h, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } = window.React;

const MAX_QUOTE_CHARS = 120; // of a message in the palette

/**
 * @param {{id: string, data?: import("../state/types.mjs").TranscriptData, reply?: import("../state/types.mjs").Reply,
 *   setProps: Function}} props
 */
export function Transcript(props) {
  const act = useActions(props);
  const thread = useShownThread(props.data, props.reply);
  const editing = useEditing(props.reply, act, thread);
  const answers = useAnswers(props.data, props.reply, act);
  const title = props.data?.title;
  useEffect(() => {
    /** @type {HTMLElement} */ (document.getElementById("thread-title")).dir = findDirection(title ?? "");
    showTitle(title ? `${title} · Waymark` : "Waymark");
  }, [title]);
  if (!props.data) return h("div", { id: props.id, className: "transcript" });
  // A new key for another thread: no state of the old conversation may remain.
  const { id, data } = props;
  return h(Conversation, { key: thread ?? "none", id, thread, data, act, editing, answers });
}

function Conversation({ id, thread, data, act, editing, answers }) {
  const [spoken, announce] = useState("");
  const stream = useStream(thread, data);
  // New messages belong to the end, which is not loaded while the page shows an earlier part.
  const merge = () => mergeMessages(leaveCandidates(data, stream.stream.run), stream.stream);
  const messages = useMemo(() => (data.later ? data.messages : merge()), [data, stream.stream]);
  const run = pickNewestRun(data, stream.stream);
  const { shown, isWhole } = useFirstScreen(messages, data.later);
  const earlier = data.earlier && isWhole;
  const loadEarlier = useEarlier(earlier, messages[0]?.id, act);
  const scrolling = useScrolling({ firstId: shown[0]?.id, onNearTop: loadEarlier });
  useSpokenRun(run, data.is_waiting, announce);
  useRunNotice(run, data.is_waiting, thread, data.title);
  const visiting = useVisiting(act);
  const showLatest = useScrollToMessage(data, isWhole, visiting.act, scrolling);
  const stayInPlace = useScrollToChanges(run?.state === "running" ? run.id : null, data.notice,
    { jumpToEnd: showLatest, stopFollowing: scrolling.stopFollowing });
  visiting.stay.current = stayInPlace;
  useFocusAfterEdit(editing, messages);
  useKeptEdit(editing, data, messages);
  const isChanged = editing.pending?.type === "change";
  useLayoutEffect(() => void (isChanged && stayInPlace()), [isChanged, stayInPlace]);
  const finding = useFinding(data);
  const find = { group: _("Actions"), name: _("Find in this conversation"), keys: "Control+F", run: finding.open };
  useCommands("transcript", () => [...(data.thread ? [find] : []), ...(data.read_only ? [] : listPlaces(messages, act))]);

  const showLater = () => (scrolling.stopFollowing(), act("later"));
  return h(
    "section",
    { id, className: "transcript", "data-thread": data.thread ?? "", "data-read-only": data.read_only || undefined,
      onClick: (event) => runProseTool(event, announce) },
    h(TranscriptLog, { data, messages, shown, run, stream, scrolling, editing, answers, act, stayInPlace, announce,
      onEarlier: earlier && (() => loadEarlier(true)), onLater: showLater }),
    finding.isOpen && data.thread && h(FindBar, { thread: data.thread, version: data.version, onClose: finding.close }),
    (scrolling.isAway || data.later) &&
      h("button", { type: "button", className: "jump", onClick: showLatest }, icon("arrow-down"), _("Jump to latest")),
    h("div", { className: "connection", role: "status" }, h(ConnectionLine, stream)),
    h("div", { className: "visually-hidden", role: "status", "aria-live": "polite" }, spoken),
  );
}

/** One line while the page, or its server, does not hear what happens elsewhere, or an answer waits for its turn. */
function ConnectionLine({ lost, isLate, stream: { before } }) {
  if (!lost && !isLate && before === null) return null;
  const wait = lost ? _("Reconnecting…") : isLate ? _("Updates from other servers are delayed…") : describePlace(before);
  return h("span", null, h("span", { className: "spinner" }), wait);
}

const describePlace = (before) =>
  before === 0
    ? _("Your answer begins next.")
    : ngettext("{count} answer begins before yours.", "{count} answers begin before yours.", before);

/** Wrap `act`: the notice of a switch to a branch, to show a message there, must not take the view to the end. */
function useVisiting(act) {
  const stay = useRef(null);
  const actInPlace = useCallback((type, fields) => {
    if (type === "visit") stay.current();
    return act(type, fields);
  }, [act]);
  return { act: actInPlace, stay };
}

/** Request earlier messages, once for each first message; `insist` repeats the request. */
function useEarlier(earlier, firstId, act) {
  const requestedFirst = useRef(null);
  useEffect(() => {
    requestedFirst.current = null; // another part may begin with the same message
  }, [firstId]);
  return useCallback((insist) => {
    if (!earlier || (requestedFirst.current === firstId && insist !== true)) return;
    requestedFirst.current = firstId;
    act("earlier", { before: firstId });
  }, [earlier, firstId, act]);
}

/** List the user's messages as positions to go back to, newest first. @returns {import("../state/types.mjs").Command[]} */
function listPlaces(messages, act) {
  const questions = messages.filter(({ role, text }) => role === "user" && text !== "");
  const place = ({ id: message, person, text }) => ({
    group: GO_BACK,
    name: _("“{text}”", { text: text.slice(0, MAX_QUOTE_CHARS) }),
    detail: person || _("your message"),
    isQuote: true,
    run: () => act("restore", { message }),
  });
  return questions.map(place).reverse();
}

/** A button that shows another portion. @param {{name: string, onClick: () => void, children?: any}} props */
const PortionButton = ({ name, onClick, children }) =>
  h("button", { type: "button", className: "quiet-button earlier", onClick }, icon(name), children);

/** The scrolling part: the messages, the running answer, and the banners. */
function TranscriptLog({ data, messages, shown, run, stream, scrolling, editing, answers, act, stayInPlace, announce,
  onEarlier, onLater }) {
  const isRunning = run?.state === "running";
  const several = data.later ? null : pickCandidates(leaveCandidates(data, stream.stream.run), stream.stream.candidates);
  const showLive = !data.later && several === null && (isRunning || !stream.answers.single.isEmpty());
  const showsBadEnd = several?.answers.some(({ state, error }) => error || state !== "failed"); // each answer its own
  const isBadEnd = !data.later && hasEndedBadly(run) && !showsBadEnd;
  const isFollowed = isRunning || messages.at(-1)?.id !== data.messages.at(-1)?.id; // by a message that the data has not yet
  const removed = data.later || isFollowed ? null : data.removed;
  const notice = data.later || (isFollowed && data.notice?.place !== undefined) ? null : data.notice;
  const isEmpty = messages.length === 0 && !showLive && !removed;
  const onSuggest = (text, requestId) => suggest(text, requestId, data.thread, act);
  return h("div",
    { className: "log", role: "log", "aria-live": "off", "aria-label": _("Conversation"), tabIndex: 0,
      ref: scrolling.scroller, onScroll: scrolling.onScroll },
    h("div",
      { className: `log-column${isEmpty ? " log-column-empty" : ""}`, "data-models": listModels(messages).length,
        ref: scrolling.column },
      h(PrintNote, { data }),
      onEarlier && h(PortionButton, { name: "clock-history", onClick: onEarlier }, _("Earlier messages")),
      isEmpty && h(Welcome, { data, onSuggest, onExample: () => act("example") }),
      h(MessageRows, { data, messages, shown, later: data.later || several !== null, isFollowed,
        isAtRest: !showLive && several === null && !hasEndedBadly(run), editing, act, stayInPlace, announce }),
      showLive && h(Live, { key: "live", answer: stream.answers.single, busy: isRunning,
        label: run?.compacts ? _("Summarising…") : null }),
      several && h(Candidates, { key: several.run, view: several, texts: stream.answers, isRunning, act, announce }),
      isRunning && showLive && stream.stream.progress && h(GraphProgress, { progress: stream.stream.progress }),
      !showLive && data.questions.length > 0 &&
        h(Questions, { thread: data.thread, questions: data.questions, drafts: data.drafts, answers }),
      data.later && h(PortionButton, { name: "arrow-down", onClick: onLater }, _("Later messages")),
      isBadEnd && h(Outcome, { key: `outcome ${run.id}`, run, isInData: hasRunEnd(data, run), isGraph: data.is_graph,
        isAlone: data.is_alone, last: messages.at(-1), act, onDismiss: stream.dismissRun }),
      !showLive && !data.later && countAnswers(messages) > 1 && h(Tip, { name: "checkpoint" }),
      data.rerun && !data.later && h(RerunBanner, { key: "rerun", rerun: data.rerun, act }),
      h(TimeEnd, { banner: notice && h(NoticeBanner, { key: notice.version, notice, act }), removed,
        act: data.read_only ? null : act }),
    ),
  );
}

const countAnswers = (messages) => messages.filter(({ role }) => role === "assistant").length;

/** Send a suggestion of the start page, which begins a conversation. */
function suggest(text, requestId, thread, act) {
  expectThread(requestId);
  act("suggest", { text, ...takeChoice(thread), ...takeModels(thread) }, requestId);
}

/** A line where a graph has ended without a message. */
function SilentNote({ data, last }) {
  const isSilent = data.is_graph && !data.later && data.questions.length === 0 && last?.role === "user";
  return isSilent && h("p", { className: "silent" }, _("There is no answer of the graph here."));
}

function MessageRows({ data, messages, shown, later, isAtRest, isFollowed, editing, act, stayInPlace, announce }) {
  const onAct = useCallback((type, fields) => {
    if (type === "choose") stayInPlace();
    act(type, fields);
  }, [act, stayInPlace]);
  const specs = listModels(messages);
  const findModelName = ({ model }) => (model ? nameModelAmong(model, specs) : null);
  const marks = ({ id, role }, isBelow) =>
    data.marks[id] && isBelow === (role === "user") && h(Marks, { marks: data.marks[id], isBelow });
  const row = (message, place) =>
    h(
      Fragment,
      { key: message.siblings[0] ?? message.id }, // alternatives share one element, so that the focus stays in it
      marks(message, false),
      h(Message, {
        message, announce, act: onAct, onEdit: editing.open, isReadOnly: data.read_only, isReader: data.is_reader,
        editing: editing.draft?.id === message.id ? editing : null,
        modelName: findModelName(message),
        isLast: !later && place === shown.length - 1,
        isUnanswered: isAtRest && !data.read_only && !later && message.role === "user" && place === shown.length - 1,
      }),
      marks(message, true), // a line above a question would stand at the answer before it
    );
  return h(Fragment, null, shown.map(row), isAtRest && !isFollowed && h(SilentNote, { data, last: messages.at(-1) }));
}
