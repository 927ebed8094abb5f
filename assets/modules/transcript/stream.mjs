/** Join the socket: dispatch its frames, write the live text, and request new data when the server is ahead. */
import { followThread } from "../lib/socket.mjs";
import { showOutageIfUnreachable } from "../page/outage.mjs";
import { EMPTY_STREAM, hasRunEnd, nextStream } from "./conversation.mjs";
import { LiveText } from "./live.mjs";
import { LiveReasoning } from "./reasoning.mjs";

const { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

/** The tab that changed something gets its data by callback. Other tabs request it after this delay. */
const FOREIGN_CHANGE_MS = 500;
const CHECK_OUTAGE_AFTER_MS = 4000; // after the connection counts as lost, which takes a second

/**
 * @param {import("../lib/types.mjs").TranscriptData} data
 * @param {import("../lib/types.mjs").Act} act
 */
export function useStream(data, act) {
  const [stream, dispatch] = useReducer(nextStream, EMPTY_STREAM);
  const [lost, setLost] = useState(false);
  useEffect(() => {
    const timer = lost ? setTimeout(showOutageIfUnreachable, CHECK_OUTAGE_AFTER_MS) : 0;
    return () => clearTimeout(timer);
  }, [lost]);
  const latest = useRef(data);
  const bubble = useRef(null);
  const live = useMemo(() => new LiveText(() => bubble.current), []);
  const bubbleRef = useCallback((element) => {
    bubble.current = element;
    if (element) live.repaint();
  }, [live]);
  const card = useRef(null);
  const thoughts = useMemo(() => new LiveReasoning(() => card.current), []);
  const cardRef = useCallback((element) => {
    card.current = element;
    if (element) thoughts.repaint();
  }, [thoughts]);
  latest.current = data;

  useLayoutEffect(() => {
    // Live text that outlasted its run is part of the data now.
    if (stream.run && hasRunEnd(data, stream.run)) {
      live.replace("", "");
      thoughts.replace("");
    }
    dispatch({ kind: "data", data });
  }, [data]); // once per delivery, not per frame

  useEffect(() => {
    if (data.thread === null) return undefined;
    const refreshing = createRefresher(latest, act);
    const onFrame = (frame) => {
      showFrame(frame, { live, thoughts }, dispatch, latest.current.version);
      refreshing.onFrame(frame);
    };
    const close = followThread(data.thread, { onFrame, onGone: refreshing.refresh, onConnection: setLost });
    return () => {
      refreshing.stop();
      live.stop();
      close();
    };
  }, [data.thread, act, live, thoughts]);

  return { stream, lost, bubbleRef, cardRef, isLiveEmpty: () => live.isEmpty() && thoughts.isEmpty(), dismissRun: () => dispatch({ kind: "dismiss" }) };
}

/** The message and the emptied bubble must reach the screen in one frame, or the answer shows twice. */
function showFrame(frame, { live, thoughts }, dispatch, version) {
  if (frame.kind === "delta" || frame.kind === "think") {
    if (frame.kind === "think") thoughts.append(frame.text);
    else {
      thoughts.end();
      live.append(frame.stable, frame.tail);
    }
    dispatch(frame);
    return;
  }
  if (frame.kind === "hello" && frame.run) {
    thoughts.replace(frame.run.reasoning);
    live.replace(frame.run.stable, frame.run.tail);
    if (!live.isEmpty()) thoughts.end();
  } else if (endsLiveText(frame, version)) {
    live.replace("", "");
    thoughts.replace("");
  }
  flushSync(() => dispatch(frame));
}

/** Return whether to empty the bubble. Text without a message stays until the data has it, unless the data is already current. */
function endsLiveText(frame, version) {
  if (frame.kind === "start" || frame.kind === "message") return true;
  return (frame.kind === "hello" || frame.kind === "end") && frame.version <= version;
}

/** Request new data when a frame is ahead of the page's data. @param {{current: import("../lib/types.mjs").TranscriptData}} latest */
function createRefresher(latest, act) {
  let requestedVersion = -1;
  let changeTimer = 0;
  const refresh = (version = latest.current.version) => {
    requestedVersion = version;
    act("refresh", { version });
  };
  const refreshIfBehind = (version) => {
    if (version > latest.current.version && version > requestedVersion) refresh(version);
  };
  const onFrame = ({ kind, version, run }) => {
    if (kind === "start" || kind === "head") {
      clearTimeout(changeTimer);
      changeTimer = setTimeout(() => refreshIfBehind(version), FOREIGN_CHANGE_MS);
    }
    if (kind === "end") refresh(version); // always: the composer's Stop must turn back into Send
    else if (kind === "hello" && !run && latest.current.run?.state === "running") refresh(version);
    else if (kind === "hello") refreshIfBehind(version);
  };
  return { refresh: () => refresh(), onFrame, stop: () => clearTimeout(changeTimer) };
}
