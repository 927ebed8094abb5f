/** The conversation: history from `data`, the running answer from the socket. */
import { newOperation, useActions } from "./actions.mjs";
import { BACK, useOffer } from "./commands.mjs";
import { EMPTY_STREAM, hasNews, knowsTheEnd, newestRun, nextStream, shownMessages } from "./conversation.mjs";
import { useEditing } from "./editing.mjs";
import { icon } from "./icons.mjs";
import { Live, createLiveText } from "./live.mjs";
import { Message } from "./messages.mjs";
import { copyCodeOnClick } from "./prose.mjs";
import { usePlace, useScrolling } from "./scrolling.mjs";
import { chosenFor } from "./settings.mjs";
import { followThread } from "./socket.mjs";
import { tellIfSilent } from "./trouble.mjs";

const { createElement: h, useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

/** The tab that changed something gets its data by callback; another tab asks for it after this pause. */
const FOREIGN_CHANGE_MS = 500;
const QUOTED = 120; // characters of a message that the palette names
const SILENT_MS = 4000; // after the connection was called lost, which takes a second
const SPOKEN = { stopped: "Answer stopped", failed: "Answer failed", interrupted: "Answer stopped" };

/**
 * @typedef {{thread: string|null, version: number, title: string, messages: import("./messages.mjs").MessageView[], earlier: boolean, later: boolean,
 *   run: {id: string, state: string, error: string|null}|null, notice: {op: string, text: string}|null,
 *   suggestions: string[]}} TranscriptData
 * @param {{id: string, data?: TranscriptData, reply?: {op: string, ok: boolean, text: string|null}, setProps: Function}} props
 */
export function Transcript(props) {
  const act = useActions(props);
  const editing = useEditing(props.reply, act);
  const title = props.data?.title;
  useEffect(() => {
    document.title = title ? `${title} · Waymark` : "Waymark";
  }, [title]);
  if (!props.data) return h("div", { id: props.id, className: "transcript" });
  // Another thread is another conversation: nothing of the old one may linger.
  return h(Conversation, { key: props.data.thread ?? "none", id: props.id, data: props.data, act, editing });
}

function Conversation({ id, data, act, editing }) {
  const [spoken, say] = useState("");
  const { stream, lost, bubbleRef, isLiveEmpty, dismissRun } = useStream(data, act);

  // What is new stands at the end, which is not there while the page holds an earlier stretch.
  const messages = useMemo(() => (data.later ? data.messages : shownMessages(data, stream)), [data, stream]);
  const run = newestRun(data, stream);
  const isRunning = run?.state === "running";
  const showLive = !data.later && (isRunning || !isLiveEmpty());

  const askedBefore = useRef(null);
  const firstId = messages[0]?.id;
  useEffect(() => {
    askedBefore.current = null; // another stretch may begin there again
  }, [firstId]);
  const loadEarlier = useCallback((insist) => {
    if (!data.earlier || (askedBefore.current === firstId && insist !== true)) return;
    askedBefore.current = firstId;
    act("earlier", { before: firstId });
  }, [data.earlier, firstId, act]);
  const scrolling = useScrolling({ firstId, onNearTop: loadEarlier });

  useSpokenRun(run, say);
  const toLatest = usePlace(data, act, scrolling);
  const stay = useJumps(isRunning ? run.id : null, data.notice, { jump: toLatest, stay: scrolling.stay });
  useFocusAfterEdit(editing.draft, messages);
  const onAct = useCallback((type, fields) => {
    if (type === "choose") stay();
    act(type, fields);
  }, [act, stay]);
  const isChanged = editing.draft?.wish?.type === "change";
  useLayoutEffect(() => {
    if (isChanged) stay();
  }, [isChanged, stay]);

  useOffer("transcript", () =>
    messages
      .filter(({ role, text }) => role === "user" && text !== "")
      .map(({ id: message, text }) => ({ group: BACK, name: `“${text.slice(0, QUOTED)}”`, detail: "your message", run: () => act("fork", { message }) }))
      .reverse(),
  );

  const isEmpty = messages.length === 0 && !showLive;
  return h(
    "section",
    { id, className: "transcript", onClick: (event) => copyCodeOnClick(event, say) },
    h(
      "div",
      {
        className: "log",
        role: "log",
        "aria-live": "off",
        "aria-label": "Conversation",
        tabIndex: 0,
        ref: scrolling.scroller,
        onScroll: scrolling.onScroll,
      },
      h(
        "div",
        { className: `log-column${isEmpty ? " log-column-empty" : ""}`, ref: scrolling.column },
        data.earlier && h(EarlierButton, { onClick: () => loadEarlier(true) }),
        isEmpty && h(Welcome, { suggestions: data.suggestions, onSuggest: (text, operation) => act("suggest", { text, ...chosenFor(data.thread) }, operation) }),
        messages.map((message, place) =>
          h(Message, {
            key: message.siblings[0] ?? message.id, // alternatives take turns in one element: the focus stays in it
            message,
            say,
            act: onAct,
            onEdit: editing.open,
            editing: editing.draft?.id === message.id ? editing : null,
            isLast: !data.later && place === messages.length - 1,
          }),
        ),
        showLive && h(Live, { key: "live", bubbleRef, busy: isRunning, label: run?.compacts ? "Summarising…" : null }),
        data.later && h(LaterButton, { onClick: () => { scrolling.stay(); act("later"); } }),
        !data.later && hasNews(run) && h(Outcome, { key: `outcome ${run.id}`, run, last: messages.at(-1), act, onDismiss: dismissRun }),
        !data.later && data.notice && h(NoticeBanner, { key: data.notice.op, notice: data.notice, act }),
      ),
    ),
    (scrolling.away || data.later) &&
      h("button", { type: "button", className: "jump", onClick: toLatest }, icon("arrow-down"), "Jump to latest"),
    h("div", { className: "connection", role: "status" }, lost && h("span", null, h("span", { className: "spinner" }), "Reconnecting…")),
    h("div", { className: "visually-hidden", role: "status", "aria-live": "polite" }, spoken),
  );
}

/** Joins the socket: its frames, the live text, and asking for fresh data when the server is ahead. */
function useStream(data, act) {
  const [stream, dispatch] = useReducer(nextStream, EMPTY_STREAM);
  const [lost, setLost] = useState(false);
  useEffect(() => {
    const timer = lost ? setTimeout(tellIfSilent, SILENT_MS) : 0;
    return () => clearTimeout(timer);
  }, [lost]);
  const latest = useRef(data);
  const asked = useRef(-1);
  const bubble = useRef(null);
  const live = useMemo(() => createLiveText(() => bubble.current), []);
  const bubbleRef = useCallback((element) => {
    bubble.current = element;
    if (element) live.repaint();
  }, [live]);
  latest.current = data;

  useLayoutEffect(() => {
    // Text that was still shown when its run ended is part of the data now.
    if (stream.run && knowsTheEnd(data, stream.run)) live.replace("", "");
    dispatch({ k: "data", data });
  }, [data]); // once for each delivery, not for each frame

  useEffect(() => {
    if (data.thread === null) return undefined;
    let changeTimer = 0;
    const refresh = (version) => {
      asked.current = version;
      act("refresh", { version });
    };
    const refreshIfBehind = (version) => {
      if (version > latest.current.version && version > asked.current) refresh(version);
    };
    const onFrame = (frame) => {
      if (frame.k === "delta") {
        live.append(frame.stable, frame.tail);
        dispatch(frame);
        return;
      }
      // The message and the emptied bubble must reach the screen in one frame, or the answer shows twice.
      if (frame.k === "hello" && frame.run) live.replace(frame.run.stable, frame.run.tail);
      else if (endsLiveText(frame, latest.current.version)) live.replace("", "");
      flushSync(() => dispatch(frame));

      if (frame.k === "start" || frame.k === "head") {
        clearTimeout(changeTimer);
        changeTimer = setTimeout(() => refreshIfBehind(frame.version), FOREIGN_CHANGE_MS);
      }
      if (frame.k === "end") refresh(frame.version); // always: the composer's Stop must turn back into Send
      else if (frame.k === "hello" && !frame.run && latest.current.run?.state === "running") refresh(frame.version);
      else if (frame.k === "hello") refreshIfBehind(frame.version);
    };
    const onGone = () => refresh(latest.current.version);
    const close = followThread(data.thread, { onFrame, onGone, onConnection: setLost });
    return () => {
      clearTimeout(changeTimer);
      live.stop();
      close();
    };
  }, [data.thread, act, live]);

  return {
    stream,
    lost,
    bubbleRef,
    isLiveEmpty: live.isEmpty,
    dismissRun: () => dispatch({ k: "dismiss" }),
  };
}

/** Without a message of its own, text stays until the data brings it; if the data is level already, it was never kept. */
function endsLiveText(frame, version) {
  if (frame.k === "start" || frame.k === "message") return true;
  return (frame.k === "hello" || frame.k === "end") && frame.version <= version;
}

/** Tells a screen reader that an answer began or ended, and never its text. */
function useSpokenRun(run, say) {
  const before = useRef(null);
  const state = run?.state ?? null;
  useEffect(() => {
    if (state === "running") say("Answering…");
    else if (before.current === "running") say(SPOKEN[state] ?? "Answer finished");
    before.current = state;
  }, [state, say]);
}

/**
 * A run that begins, or a banner at the boundary, is brought into view even from further up; what is done in place is not.
 * @returns {() => void} says that the next change is made in place
 */
function useJumps(runningId, notice, { jump, stay }) {
  const mounted = useRef(false);
  const inPlace = useRef(false);
  useLayoutEffect(() => {
    if (mounted.current && runningId !== null) jump();
  }, [runningId, jump]);
  useLayoutEffect(() => {
    if (mounted.current && notice && !inPlace.current) jump();
    inPlace.current = false;
    mounted.current = true;
  }, [notice?.op, jump]);
  return useCallback(() => {
    inPlace.current = true;
    stay();
  }, [stay]);
}

/** The field is gone with its focus: it goes to the message, or to the one that comes to stand in its place. */
function useFocusAfterEdit(draft, messages) {
  const left = useRef(null);
  if (draft) left.current = { id: draft.id, isSent: draft.wish !== null };
  useEffect(() => {
    if (draft || left.current === null) return;
    const { id, isSent } = left.current;
    const place = messages.find((message) => (isSent ? message.id !== id && message.siblings.includes(id) : message.id === id));
    if (!place) return;
    left.current = null;
    if (document.activeElement !== document.body) return;
    document.querySelector(`[data-message-id="${CSS.escape(place.id)}"] .edit-button`)?.focus({ preventScroll: true });
  }, [draft, messages]);
}

function EarlierButton({ onClick }) {
  return h("button", { type: "button", className: "quiet-button earlier", onClick }, icon("clock-history"), "Earlier messages");
}

function LaterButton({ onClick }) {
  return h("button", { type: "button", className: "quiet-button earlier", onClick }, icon("arrow-down"), "Later messages");
}

function Welcome({ suggestions, onSuggest }) {
  const operation = useRef(newOperation()); // a double click is one wish
  return h(
    "div",
    { className: "welcome" },
    h("span", { className: "welcome-mark" }, icon("signpost-split")),
    h("h2", null, "Good to see you. Where shall we start?"),
    h("p", null, "Save a checkpoint when things stand well. If the talk wanders off, go back to it: even going back can be undone."),
    h(
      "ul",
      { className: "suggestions", "aria-label": "Suggestions" },
      suggestions.map((text) =>
        h("li", { key: text }, h("button", { type: "button", className: "suggestion", onClick: () => onSuggest(text, operation.current) }, text)),
      ),
    ),
  );
}

/** How the newest run ended, if it ended badly, and what can be done about it. */
function Outcome({ run, last, act, onDismiss }) {
  const operation = useRef(newOperation()); // a double click is one wish
  // In its text, or after it had asked for tools: what they gave is there, and none runs again by itself.
  const isCut = last?.role === "assistant" && (last.state === "partial" || last.tools.length > 0);
  const isError = run.state === "failed" && Boolean(run.error);
  const button = (label, type, sign) =>
    h("button", { type: "button", className: "quiet-button", onClick: () => act(type, {}, operation.current) }, sign && icon(sign), label);
  const dismiss = () => {
    onDismiss();
    act("dismiss");
  };
  return h(
    "div",
    { className: `outcome${isError ? " outcome-error" : ""}`, role: isError ? "alert" : "group", "aria-label": "How the answer ended" },
    icon(isError ? "exclamation-triangle" : "stop-circle"),
    h("p", null, isError ? run.error : run.compacts ? "Summarising was stopped. Nothing was changed." : isCut ? "This answer was cut off" : "This answer was cut off before it began"),
    h(
      "div",
      { className: "outcome-buttons" },
      isCut && !run.compacts && button("Continue", "continue"),
      (isError || !isCut) && !run.compacts && button("Retry", "retry", "arrow-repeat"),
      h("button", { type: "button", className: "quiet-button", onClick: dismiss }, "Dismiss"),
    ),
  );
}

/** What the last operation took away, where it took it away, and the way back. */
function NoticeBanner({ notice, act }) {
  const operation = useRef(newOperation()); // as above
  return h(
    "div",
    { className: "notice", role: "status" },
    icon("signpost-split"),
    h("p", null, notice.text),
    h(
      "button",
      { type: "button", className: "quiet-button", "data-testid": "undo", onClick: () => act("undo", {}, operation.current) },
      icon("arrow-counterclockwise"),
      "Undo",
    ),
    h(
      "button",
      { type: "button", className: "icon-button", "aria-label": "Close notice", title: "Close", onClick: () => act("close-notice") },
      icon("x-lg"),
    ),
  );
}
