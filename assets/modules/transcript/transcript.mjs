/** The conversation: history from `data`, the running answer from the socket. */
import { button } from "../controls/buttons.mjs";
import { GO_BACK, useCommands } from "../controls/commands.mjs";
import { withIcon } from "../controls/icons.mjs";
import { Tip } from "../controls/tips.mjs";
import { runProseTool } from "../message/prose.mjs";
import { useActions } from "../state/actions.mjs";
import { useShownThread } from "../state/chosen-thread.mjs";
import { showTitle } from "../state/notices.mjs";
import { findDirection } from "../words/direction.mjs";
import { nameModelAmong } from "../words/format.mjs";
import { _, ngettext } from "../words/words.mjs";
import { Candidates } from "./candidate-cards.mjs";
import { hasEndedBadly, hasRunEnd, listModels, mergeTranscript, pickNewestRun } from "./conversation.mjs";
import { useEditing, useKeptEdit } from "./editing.mjs";
import { FindBar, useFinding } from "./find-bar.mjs";
import { useAnswers } from "./kept-answers.mjs";
import { Live, GraphProgress } from "./live.mjs";
import { Marks } from "./marks.mjs";
import { Message } from "./message.mjs";
import { NoticeBanner, Outcome, PrintNote, TimeEnd, RerunBanner } from "./outcome.mjs";
import { Questions } from "./questions.mjs";
import { useScrollToMessage } from "./scroll-to-message.mjs";
import { useFocusAfterEdit, useRunNotices, useScrollToChanges, useScrolling, useSpokenUndo } from "./scrolling.mjs";
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
  const connection = useStream(thread, data);
  const { stream } = connection;
  const { messages, candidates } = useMemo(() => mergeTranscript(data, stream), [data, stream]);
  const run = pickNewestRun(data, stream);
  const { shown, isWhole } = useFirstScreen(messages, data.later);
  const loadEarlier = useEarlier(data.earlier && isWhole, messages[0]?.id, act);
  const scrolling = useScrolling(shown[0]?.id, () => loadEarlier?.());
  const actInPlace = useCallback((type, fields) => {
    if (type === "visit" || type === "choose") scrolling.stayInPlace(); // their notices must not take the view to the end
    act(type, fields);
  }, [act]);
  useRunNotices(run, data, thread, announce);
  useSpokenUndo(announce);
  const showLatest = useScrollToMessage(data, isWhole, actInPlace, scrolling);
  useScrollToChanges(run?.state === "running" ? run.id : null, data.notice, scrolling, showLatest);
  useFocusAfterEdit(editing, messages);
  useKeptEdit(editing, data, messages);
  const isChanged = editing.pending?.type === "change";
  useLayoutEffect(() => void (isChanged && scrolling.stayInPlace()), [isChanged]);
  const finding = useFinding(data);
  const find = { group: _("Actions"), name: _("Find in this conversation"), keys: "Control+F", run: finding.open };
  useCommands("transcript", () => [...(data.thread ? [find] : []), ...(data.read_only ? [] : listPlaces(messages, act))]);
  return h(
    "section",
    { id, className: "transcript", "data-thread": data.thread ?? "", "data-read-only": data.read_only || undefined,
      onClick: (event) => runProseTool(event, announce) },
    h(TranscriptLog, { data, messages, shown, candidates, run, connection, scrolling, editing, answers, act, actInPlace,
      announce, loadEarlier }),
    finding.isOpen && data.thread && h(FindBar, { thread: data.thread, version: data.version, onClose: finding.close }),
    (scrolling.isAway || data.later) &&
      button("jump", withIcon("arrow-down", _("Jump to latest")), showLatest),
    h("div", { className: "connection", role: "status" }, h(ConnectionLine, connection)),
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

/** @returns {((insist?: boolean) => void)|null} requests earlier messages, where there are: once, unless one insists */
function useEarlier(earlier, firstId, act) {
  const requestedFirst = useRef(null);
  useEffect(() => void (requestedFirst.current = null), [firstId]); // another part may begin with the same message
  const load = (insist = false) => {
    if (requestedFirst.current === firstId && !insist) return;
    requestedFirst.current = firstId;
    act("earlier", { before: firstId });
  };
  return earlier ? load : null;
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

/** A button that shows another portion. */
const portionButton = (sign, name, onClick) =>
  button("quiet-button earlier", withIcon(sign, name), onClick);

/** The scrolling part: the messages, the running answer, and the banners. */
function TranscriptLog(props) {
  const { data, messages, candidates, run, connection, scrolling, answers, act, announce, loadEarlier } = props;
  const { stream, answers: texts, dismissRun } = connection;
  const isRunning = run?.state === "running";
  const showLive = !data.later && candidates === null && (isRunning || !texts.single.isEmpty());
  const showsBadEnd = candidates?.answers.some(({ state, error }) => error || state !== "failed"); // each answer its own
  const isBadEnd = !data.later && hasEndedBadly(run) && !showsBadEnd;
  const isFollowed = isRunning || messages.at(-1)?.id !== data.messages.at(-1)?.id; // by a message that the data has not yet
  const removed = data.later || isFollowed ? null : data.removed;
  const notice = data.later || (isFollowed && data.notice?.place !== undefined) ? null : data.notice;
  const isEmpty = messages.length === 0 && !showLive && !removed;
  const showLater = () => (scrolling.stopFollowing(), act("later"));
  const isAtRest = !showLive && candidates === null && !hasEndedBadly(run);
  return h("div",
    { className: "log", role: "log", "aria-live": "off", "aria-label": _("Conversation"), tabIndex: 0,
      ref: scrolling.scroller, onScroll: scrolling.onScroll },
    h("div",
      { className: `log-column${isEmpty ? " log-column-empty" : ""}`, "data-models": listModels(messages).length,
        ref: scrolling.column },
      h(PrintNote, { data }),
      loadEarlier && portionButton("clock-history", _("Earlier messages"), () => loadEarlier(true)),
      isEmpty && h(Welcome, { data, act }),
      h(MessageRows, { ...props, later: data.later || candidates !== null, isAtRest }),
      isAtRest && !isFollowed && h(SilentNote, { data, last: messages.at(-1) }),
      showLive && h(Live, { key: "live", answer: texts.single, busy: isRunning,
        label: run?.compacts ? _("Summarising…") : null }),
      candidates && h(Candidates, { key: candidates.run, view: candidates, texts, isRunning, act, announce }),
      isRunning && showLive && stream.progress && h(GraphProgress, { progress: stream.progress }),
      !showLive && data.questions.length > 0 &&
        h(Questions, { thread: data.thread, questions: data.questions, drafts: data.drafts, answers }),
      data.later && portionButton("arrow-down", _("Later messages"), showLater),
      isBadEnd && h(Outcome, { key: `outcome ${run.id}`, run, isInData: hasRunEnd(data, run), isGraph: data.is_graph,
        isAlone: data.is_alone, last: messages.at(-1), act, onDismiss: dismissRun }),
      !showLive && !data.later && countAnswers(messages) > 1 && h(Tip, { name: "checkpoint" }),
      data.rerun && !data.later && h(RerunBanner, { key: "rerun", rerun: data.rerun, act }),
      h(TimeEnd, { banner: notice && h(NoticeBanner, { key: notice.version, notice, act }), removed,
        act: data.read_only ? null : act }),
    ),
  );
}

const countAnswers = (messages) => messages.filter(({ role }) => role === "assistant").length;

/** A line where a graph has ended without a message. */
function SilentNote({ data, last }) {
  const isSilent = data.is_graph && !data.later && data.questions.length === 0 && last?.role === "user";
  return isSilent && h("p", { className: "silent" }, _("There is no answer of the graph here."));
}

function MessageRows({ data, messages, shown, later, isAtRest, editing, actInPlace, announce }) {
  const specs = listModels(messages);
  const marks = ({ id, role }, isBelow) =>
    data.marks[id] && isBelow === (role === "user") && h(Marks, { marks: data.marks[id], isBelow });
  const row = (message, place) => {
    const { id, role, model, siblings } = message;
    const isLast = !later && place === shown.length - 1;
    return h(
      Fragment,
      { key: siblings[0] ?? id }, // alternatives share one element, so that the focus stays in it
      marks(message, false),
      h(Message, {
        message, announce, act: actInPlace, onEdit: editing.open, isReadOnly: data.read_only, isReader: data.is_reader,
        editing: editing.draft?.id === id ? editing : null, isLast,
        modelName: model ? nameModelAmong(model, specs) : null,
        isUnanswered: isLast && isAtRest && !data.read_only && role === "user",
      }),
      marks(message, true), // a line above a question would stand at the answer before it
    );
  };
  return shown.map(row);
}
