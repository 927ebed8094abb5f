/** Join the socket: dispatch its frames, write the live text, and request new data when the server is ahead. */
import { reportFirstWord } from "../browser/first-word.mjs";
import { showOutage, showOutageIfUnreachable } from "../page/outage.mjs";
import { readTurn } from "../requests/page-request.mjs";
import { getChosenThread, expectThread } from "../state/chosen-thread.mjs";
import { applyListChange, applyTurn, goToBegun, isReading, refreshPanels, refreshThreads } from "../state/panels.mjs";
import { followThread, prepareSocket } from "../state/socket.mjs";
import { EMPTY_STREAM, hasRunEnd, nextStream } from "./conversation.mjs";
import { LiveAnswers } from "./live-answers.mjs";

const { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

/** The tab that changed something gets its data by callback. Other tabs request it after this delay. */
const FOREIGN_CHANGE_MS = 500;
const MAX_ADDED_TO = 150; // messages: a page that holds more gets its window anew
const CHECK_OUTAGE_AFTER_MS = 4000; // after the connection counts as lost, which takes a second

const TEXT_FRAMES = ["delta", "reasoning", "texts"];

/** @type {Pick<import("../state/socket.mjs").Listeners, "onFrame"|"onReturn">} */
const LIST_HANDLERS = { onFrame: (frame) => applyListChange(frame.change), onReturn: refreshThreads };

/**
 * @param {string|null} thread the data's, or one that has begun and is not in the data yet
 * @param {import("../state/types.mjs").TranscriptData} data
 */
export function useStream(thread, data) {
  const [stream, dispatch] = useReducer(nextStream, EMPTY_STREAM);
  const [lost, setLost] = useState(false);
  const [isLate, setLate] = useState(false); // what other servers tell does not arrive
  const latest = useRef(data);
  const answers = useMemo(() => new LiveAnswers(), []);
  const noteRun = useOutdatedReplies(data);
  latest.current = data;

  useLayoutEffect(() => {
    if (stream.run && hasRunEnd(data, stream.run)) answers.single.replace(); // it is part of the data now
    dispatch({ kind: "data", data });
  }, [data]); // once per delivery, not per frame

  useEffect(() => {
    const timer = lost ? setTimeout(showOutageIfUnreachable, CHECK_OUTAGE_AFTER_MS) : 0;
    return () => clearTimeout(timer);
  }, [lost]);

  useEffect(() => {
    if (thread === null) return prepareSocket(LIST_HANDLERS);
    const refreshing = createRefresher(thread, latest);
    const onFrame = (frame) => {
      if (frame.kind === "list") return applyListChange(frame.change);
      if (frame.kind === "hello" || frame.kind === "late") setLate(frame.kind === "late" || frame.late === true);
      showFrame(frame, answers, dispatch, latest.current.version);
      refreshing.onFrame(frame);
      noteRun(frame);
    };
    const onGone = () => (expectThread(null), refreshPanels());
    const handlers = { onFrame, onGone, onConnection: setLost, onReturn: refreshThreads };
    const close = followThread(thread, handlers, latest.current.thread === null);
    return () => (refreshing.stop(), close());
  }, [thread]);

  const dismissRun = () => dispatch({ kind: "dismiss" });
  return { stream, lost, isLate, answers, dismissRun };
}

/** The message and the emptied bubble must reach the screen in one frame, or the answer shows twice. */
function showFrame(frame, answers, dispatch, version) {
  if (frame.kind === "outage") return showOutage(frame.text);
  answers.show(frame, frame.version <= version);
  if (TEXT_FRAMES.includes(frame.kind)) dispatch(frame);
  else flushSync(() => dispatch(frame));
  if (TEXT_FRAMES.includes(frame.kind) || frame.kind === "end") reportFirstWord(); // after the end there will be none
}

/**
 * Request new data when a frame is ahead of the page's data. The thread may have begun without a reply that names its
 * address.
 * @param {{current: import("../state/types.mjs").TranscriptData}} latest
 */
function createRefresher(thread, latest) {
  let requestedVersion = -1;
  let [changeTimer, isStopped] = [0, false];
  const { visit } = getChosenThread(); // at which it began
  const refresh = (version) => {
    requestedVersion = version;
    if (latest.current.thread === null) goToBegun(thread, visit);
    else refreshPanels();
  };
  const isBehind = (version) => version > latest.current.version && version > requestedVersion;
  const refreshIfBehind = (version) => isBehind(version) && refresh(version);
  const showTurn = (turn) => {
    const { thread: shownThread, version, later, messages, candidates } = latest.current;
    const isKnown = turn !== null && shownThread === thread && version >= turn.base && candidates === null;
    return isKnown && !later && messages.length < MAX_ADDED_TO && applyTurn(turn);
  };
  const showStart = async (run, version) => {
    if (!isBehind(version) || (latest.current.thread === null && isReading(thread))) return;
    const turn = latest.current.thread === thread ? await readTurn(thread, run) : null;
    const isOutdated = turn !== null && turn.version <= latest.current.version; // the end came first
    if (!isStopped && !isOutdated && !showTurn(turn)) refreshIfBehind(version);
  };
  const onFrame = ({ kind, version, run, turn = null }) => {
    if (kind === "hello") requestedVersion = -1; // a request before the connection was lost may be lost as well
    const isBegun = kind === "hello" && Boolean(run) && latest.current.thread === null; // its start is told as well
    const isTurn = kind === "end" || turn !== null; // the turn of a title's change is the one before it
    if (kind === "start" || (kind === "head" && !isTurn) || isBegun) {
      const showChange = () => (kind === "head" ? refreshIfBehind(version) : showStart(run, version));
      clearTimeout(changeTimer);
      changeTimer = setTimeout(showChange, FOREIGN_CHANGE_MS);
    }
    if (kind === "rerun" || kind === "members") refresh(latest.current.version);
    const isShown = isTurn && version >= latest.current.version && showTurn(turn);
    if (isTurn && !isShown) refresh(version); // always: the composer's Stop must turn back into Send
    else if (kind === "hello" && !run && latest.current.run?.state === "running") refresh(version);
    else if (kind === "hello" && !isBegun) refreshIfBehind(version);
  };
  const stop = () => (clearTimeout(changeTimer), (isStopped = true));
  return { onFrame, stop };
}

/** Ask for the panels anew where a reply from before the end of a run comes after it, and reports it as running. */
function useOutdatedReplies(data) {
  const runs = useRef({ current: null, ended: null });
  useLayoutEffect(() => {
    if (runs.current.ended === null || data.run?.state !== "running" || data.run.id !== runs.current.ended) return;
    runs.current.ended = null; // once
    refreshPanels();
  }, [data]);
  return useCallback(({ kind, run }) => {
    if (kind === "end" || (kind === "hello" && !run)) runs.current.ended = runs.current.current; // it ended out of sight
    if (kind === "start") runs.current = { current: run, ended: null };
    else if (kind === "hello" && run) runs.current = { current: run.id, ended: null };
  }, []);
}
