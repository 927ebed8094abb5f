/** Joins the socket: its frames, the live text, and asking for fresh data when the server is ahead. */
import { followThread } from "../lib/socket.mjs";
import { tellIfSilent } from "../page/trouble.mjs";
import { EMPTY_STREAM, knowsTheEnd, nextStream } from "./conversation.mjs";
import { LiveText } from "./live.mjs";
import { LiveReasoning } from "./reasoning.mjs";

const { useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

/** The tab that changed something gets its data by callback; another tab asks for it after this pause. */
const FOREIGN_CHANGE_MS = 500;
const SILENT_MS = 4000; // after the connection was called lost, which takes a second

/**
 * @param {import("../lib/types.mjs").TranscriptData} data
 * @param {import("../lib/types.mjs").Act} act
 */
export function useStream(data, act) {
  const [stream, dispatch] = useReducer(nextStream, EMPTY_STREAM);
  const [lost, setLost] = useState(false);
  useEffect(() => {
    const timer = lost ? setTimeout(tellIfSilent, SILENT_MS) : 0;
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
    // Text that was still shown when its run ended is part of the data now.
    if (stream.run && knowsTheEnd(data, stream.run)) {
      live.replace("", "");
      thoughts.replace("");
    }
    dispatch({ k: "data", data });
  }, [data]); // once for each delivery, not for each frame

  useEffect(() => {
    if (data.thread === null) return undefined;
    const refreshing = createRefreshing(latest, act);
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

  return { stream, lost, bubbleRef, cardRef, isLiveEmpty: () => live.isEmpty() && thoughts.isEmpty(), dismissRun: () => dispatch({ k: "dismiss" }) };
}

/** The message and the emptied bubble must reach the screen in one frame, or the answer shows twice. */
function showFrame(frame, { live, thoughts }, dispatch, version) {
  if (frame.k === "delta" || frame.k === "think") {
    if (frame.k === "think") thoughts.append(frame.text);
    else {
      thoughts.end();
      live.append(frame.stable, frame.tail);
    }
    dispatch(frame);
    return;
  }
  if (frame.k === "hello" && frame.run) {
    thoughts.replace(frame.run.reasoning);
    live.replace(frame.run.stable, frame.run.tail);
    if (!live.isEmpty()) thoughts.end();
  } else if (endsLiveText(frame, version)) {
    live.replace("", "");
    thoughts.replace("");
  }
  flushSync(() => dispatch(frame));
}

/** Without a message of its own, text stays until the data brings it; if the data is level already, it was never kept. */
function endsLiveText(frame, version) {
  if (frame.k === "start" || frame.k === "message") return true;
  return (frame.k === "hello" || frame.k === "end") && frame.version <= version;
}

/** Asks for fresh data when a frame is ahead of what the page shows. @param {{current: import("../lib/types.mjs").TranscriptData}} latest */
function createRefreshing(latest, act) {
  let asked = -1;
  let changeTimer = 0;
  const refresh = (version = latest.current.version) => {
    asked = version;
    act("refresh", { version });
  };
  const refreshIfBehind = (version) => {
    if (version > latest.current.version && version > asked) refresh(version);
  };
  const onFrame = ({ k, version, run }) => {
    if (k === "start" || k === "head") {
      clearTimeout(changeTimer);
      changeTimer = setTimeout(() => refreshIfBehind(version), FOREIGN_CHANGE_MS);
    }
    if (k === "end") refresh(version); // always: the composer's Stop must turn back into Send
    else if (k === "hello" && !run && latest.current.run?.state === "running") refresh(version);
    else if (k === "hello") refreshIfBehind(version);
  };
  return { refresh: () => refresh(), onFrame, stop: () => clearTimeout(changeTimer) };
}
