/** The field in which the user writes. What is typed stays in this component and this tab until it is sent. */
import { newOperation, useActions } from "./actions.mjs";
import { Later, pastedFiles, useAttaching } from "./attaching.mjs";
import { fitHeight, joinTexts, keepUnsent, keptUnsent, moveUnsent, useDrafts, useFill } from "./field.mjs";
import { count } from "./format.mjs";
import { icon } from "./icons.mjs";
import { Meter, typedTokens } from "./meter.mjs";
import { chosenFor, useKept } from "./settings.mjs";
import { isOvertaken } from "./socket.mjs";
import { say } from "./toast.mjs";
import { isInTrouble } from "./trouble.mjs";
import { useOutage } from "./unanswered.mjs";

const { Fragment, createElement: h, useCallback, useEffect, useLayoutEffect, useRef, useState } = window.React;

const NO_REPLY_MS = 6000;
const TALLEST_PX = 240;
const COMMAND = /^\s*\/(c(o(m(p(a(c(t(\s[^]*)?)?)?)?)?)?)?)?$/; // or the beginning of it
const FILES_NOT_KEPT = "Your message is back in the field; its files were not kept.";
const NO_REPLY_TEXT = {
  send: "Not sent yet: the server does not answer. Your text is kept.",
  stop: "Not stopped yet: the server does not answer.",
};

/**
 * @typedef {{thread: string|null, version: number, running: boolean, rest: string|null, reply: {op: string, ok: boolean, text: string|null}|null,
 *   fill: {key: string, text: string}|null, model: string, demo: string|null,
 *   meter: import("./meter.mjs").MeterView|null}} ComposerData
 * @param {{id: string, data?: ComposerData, setProps: Function}} props
 */
export function Composer(props) {
  const { data: given = {} } = props;
  const data = { ...given, ...useKept(given.thread) };
  const act = useActions(props);
  const field = useRef(null);
  const [isEmpty, setEmpty] = useState(true);
  const [typed, setTyped] = useState(0);
  const [isCommand, setCommand] = useState(false);
  const changed = useCallback(() => {
    fitHeight(field.current, TALLEST_PX);
    setEmpty(field.current.value.trim() === "");
    setTyped(typedTokens(field.current.value));
    setCommand(COMMAND.test(field.current.value));
  }, []);
  const setText = useCallback((text) => {
    field.current.value = text;
    changed();
  }, [changed]);

  const attached = useAttaching();
  const chooser = useRef(null);
  const onInput = () => {
    changed();
    keepUnsent("draft", data.thread, field.current.value);
  };
  const thread = given.thread ?? null;
  const hasBegun = useRef(false); // the server took a first message: the conversation that comes next is its own
  const drafts = useDrafts(thread, hasBegun, field, setText, attached);
  const { pending, isLate, problem, hasRunToCome, start, repeat, comeBackSent } = useExchange(given, props.reply, act, { field, setText, attached, drafts, hasBegun });
  const isSending = pending?.type === "send" && !isLate;
  const isBusy = () => isSending || hasRunToCome || given.running || isOvertaken(given.thread, given.version);
  const { queued, queue, takeBack, comeBack } = useQueue(given, { pending, problem, isBusy, start }, field, setText, attached);
  useLayoutEffect(() => {
    if (data.version === undefined) return;
    comeBackSent(thread);
    comeBack(thread);
  }, [thread, data.version === undefined]);
  useFill(data.fill, field, setText);
  useEffect(() => {
    // Not on touch screens, where focus would throw the keyboard over the page.
    if (matchMedia("(pointer: fine)").matches && document.activeElement === document.body) field.current.focus();
  }, [data.thread]);

  const send = () => {
    if (attached.isReading) return;
    if (data.running && isInTrouble()) return; // nobody knows whether the answer goes on: the text stays in the field
    const isRepeated = repeat();
    const text = field.current.value;
    const files = attached.current();
    if (text.trim() === "" && files.length === 0) return;
    // At once, and not with the server's answer: the same text under a second press would be a second message.
    setText("");
    keepUnsent("draft", thread, "");
    attached.drop(files);
    if (isRepeated || isBusy()) queue(text, files);
    else start("send", text, files);
  };
  const again = () => (pending?.type === "stop" ? start("stop", "", [], pending.op) : send());
  const onKeyDown = (event) => {
    // keyCode 229: Safari ends a composition before the keydown of the Enter that chose the word.
    const isComposing = event.nativeEvent.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || isComposing) return;
    event.preventDefault();
    send();
  };

  return h(
    "section",
    { id: props.id, className: "composer", "aria-label": "Write a message" },
    h(
      "div",
      { className: "composer-column" },
      (problem || attached.problem) &&
        h(
          "div",
          { className: "composer-problem", role: "alert" },
          icon("exclamation-circle"),
          h("p", null, problem?.text ?? attached.problem),
          problem?.again && h("button", { type: "button", className: "quiet-button", onClick: again }, "Try again"),
        ),
      queued !== null &&
        h(
          "div",
          { className: "composer-queued", role: "status" },
          icon("clock-history"),
          h("p", null, h("span", { className: "quiet" }, "Sent after this answer: "), [queued.text, queued.files.length > 0 && count(queued.files.length, "file")].filter(Boolean).join(" · ")),
          h("button", { type: "button", className: "quiet-button", onClick: takeBack }, "Edit"),
        ),
      isCommand && h("p", { className: "quiet", role: "status" }, h("code", null, "/compact"), " summarises the conversation; after it you can say what to keep."),
      attached.files.length > 0 && h(Later, { part: "Chips", files: attached.files, onRemove: (file) => attached.drop([file]) }),
      h(
        "div",
        { className: "composer-box", onClick: (event) => event.target === event.currentTarget && field.current.focus() },
        h(AttachButton, { chooser, take: attached.take }),
        h("textarea", {
          ref: field,
          className: "composer-field",
          "data-testid": "composer",
          "aria-label": "Message",
          placeholder: "Write a message",
          rows: 1,
          onInput,
          onKeyDown,
          onPaste: (event) => {
            const files = pastedFiles(event);
            if (files.length === 0) return;
            event.preventDefault();
            attached.take(files);
          },
        }),
        data.running
          ? h(StopButton, { isStopping: pending?.type === "stop", onClick: () => start("stop") })
          : h(SendButton, { isSending, isEmpty: (isEmpty && attached.files.length === 0) || attached.isReading, onClick: send }),
      ),
      h(
        "p",
        { className: "composer-foot" },
        h("span", { className: "composer-demo", }, data.demo ?? h(Keys)),
        data.meter && h(Meter, { thread: data.thread, version: data.version, meter: data.meter, typed }),
        h("span", { className: "composer-model" }, data.model),
      ),
    ),
  );
}

const Keys = () => h("span", { className: "composer-keys" }, "Enter sends, Shift + Enter breaks the line", h("span", { className: "composer-more" }, ", Ctrl + K finds the rest"));

function AttachButton({ chooser, take }) {
  const onChange = ({ target }) => {
    take(target.files);
    target.value = ""; // or the same file could not be chosen again
  };
  return h(
    Fragment,
    null,
    h("input", { type: "file", multiple: true, hidden: true, ref: chooser, "aria-label": "Files to attach", onChange }),
    h(
      "button",
      { type: "button", className: "icon-button attach-button", "aria-label": "Attach files", title: "Attach files", onClick: () => chooser.current.click() },
      icon("paperclip"),
    ),
  );
}

function SendButton({ isSending, isEmpty, onClick }) {
  const disabled = isEmpty || isSending;
  return h(
    "button",
    { type: "button", className: "send-button", "data-testid": "send", "aria-label": "Send", title: "Send", "aria-disabled": disabled, onClick },
    isSending ? h("span", { className: "spinner" }) : icon("arrow-up"),
  );
}

function StopButton({ isStopping, onClick }) {
  return h(
    "button",
    {
      type: "button",
      className: "send-button stop-button",
      "data-testid": "stop",
      "aria-label": "Stop",
      title: "Stop",
      "aria-disabled": isStopping,
      onClick: (event) => !isStopping && event.detail < 2 && onClick(), // the second press of a double click was meant for Send
    },
    icon("stop-fill"),
  );
}

/**
 * One action and the server's answer to it. A message is in one place at a time: in the field, in the queue, or under way.
 * One that the server refuses, or does not answer in time, comes back into the field; sent again as it was, it keeps its
 * operation id, so that it cannot act twice.
 */
function useExchange(data, reply, act, { field, setText, attached, drafts, hasBegun }) {
  const [pending, setPending] = useState(null);
  const [isLate, setLate] = useState(false);
  const [problem, setProblem] = useState(null);
  const taken = useRef(null); // what was shown when the server took a message: as long as it is, the run of that is to come
  const thread = data.thread ?? null;
  const { put, drop } = attached;
  const isAnswered = pending !== null && reply?.op === pending.op;
  const hasStopped = pending?.type === "stop" && !data.running;

  const start = useCallback((type, text = "", files = [], op = undefined) => {
    const sent = files.map(({ name, data: content }) => ({ name, data: content }));
    const operation = act(type, type === "send" ? { text, ...(sent.length > 0 && { files: sent }), ...chosenFor(data.thread) } : {}, op);
    if (type === "send") keepUnsent("sent", thread, { text, op: operation, files: files.length });
    setProblem(null);
    setLate(false);
    setPending({ type, text, files, op: operation, thread });
  }, [act, data.thread, thread]);

  const giveBack = useCallback(({ text, files, thread: from }) => {
    if (from !== thread) {
      drafts.putBack(from, text, files);
      return;
    }
    setText(joinTexts(text, field.current.value));
    put(files);
    keepUnsent("draft", thread, field.current.value);
  }, [thread, drafts, field, setText, put]);

  const takeOut = useCallback(({ text, files, thread: from }) => {
    const { value } = field.current;
    if (from !== thread || !value.startsWith(text)) return false;
    setText(value.slice(text.length).trimStart());
    drop(files);
    keepUnsent("draft", thread, field.current.value);
    return true;
  }, [thread, field, setText, drop]);

  useLayoutEffect(() => {
    if (!isAnswered && !hasStopped) return;
    const failed = isAnswered && !reply.ok;
    if (isAnswered && pending.type === "send") {
      if (failed && !isLate) giveBack(pending);
      if (!failed && isLate) takeOut(pending);
      if (!failed && pending.thread === null && thread === null) hasBegun.current = true;
      taken.current = failed || pending.thread !== thread ? null : data;
      if (keptUnsent("sent", pending.thread)?.op === pending.op) keepUnsent("sent", pending.thread, null);
    }
    setProblem(failed ? { text: reply.text ?? "That did not work. Your text is kept.", again: false } : null);
    setLate(false);
    setPending(null);
  }, [isAnswered, hasStopped, isLate, reply, data, thread, pending, giveBack, takeOut, hasBegun]);

  const waiting = useRef(() => undefined);
  waiting.current = () => {
    if (pending === null || isLate) return;
    setProblem({ text: NO_REPLY_TEXT[pending.type], again: true });
    setLate(true);
    if (pending.type === "send") giveBack(pending);
  };
  useOutage(() => waiting.current());
  useEffect(() => {
    if (pending === null) return undefined;
    const timer = setTimeout(() => waiting.current(), NO_REPLY_MS);
    return () => clearTimeout(timer);
  }, [pending]);

  return {
    pending,
    isLate,
    problem,
    hasRunToCome: taken.current === data,
    start,
    /** Sends what came back once more, if it stands in the field as it was. @returns {boolean} */
    repeat: () => {
      const kept = keptUnsent("sent", thread);
      const before = pending?.type === "send" ? isLate && pending : kept && { ...kept, files: [], thread };
      if (!before) return false;
      if (!takeOut(before)) {
        if (before.thread === thread) keepUnsent("sent", thread, null); // it is another message now
        return false;
      }
      start("send", before.text, before.files, before.op);
      return true;
    },
    /** What was under way when this tab was loaded anew. */
    comeBackSent: (shown) => {
      const kept = keptUnsent("sent", shown);
      if (kept === null || kept.op === pending?.op) return;
      if (!field.current.value.startsWith(kept.text)) setText(joinTexts(kept.text, field.current.value));
      keepUnsent("draft", shown, field.current.value);
      if (kept.files === 0) return;
      keepUnsent("sent", shown, null);
      say(FILES_NOT_KEPT);
    },
  };
}

/** What is sent while an answer is being written waits for its end. If that is no good one, it goes back into the field. */
function useQueue(data, { pending, problem, isBusy, start }, field, setText, { put }) {
  const [queued, setQueued] = useState(null);
  const shownFor = useRef(data.thread ?? null);
  const putBack = useCallback((thread) => {
    setText(joinTexts(queued.text, field.current.value));
    put(queued.files);
    setQueued(null);
    keepUnsent("queue", thread, null);
    keepUnsent("draft", thread, field.current.value);
  }, [queued, field, setText, put]);

  useLayoutEffect(() => {
    const thread = data.thread ?? null;
    const before = shownFor.current;
    const hasLeft = before !== null && before !== thread;
    shownFor.current = thread;
    if (queued === null) return;
    if (before !== thread && !hasLeft) moveUnsent("queue", thread); // it has begun
    if (hasLeft || (problem && pending === null)) putBack(before);
    else if (pending === null && !isBusy()) {
      if (data.rest !== "done") {
        putBack(thread);
        return;
      }
      setQueued(null);
      keepUnsent("queue", thread, null);
      start("send", queued.text, queued.files, queued.op);
    }
  }, [data, pending, problem, queued, putBack, start]);

  return {
    queued,
    queue: (text, files) => {
      const waiting = {
        text: joinTexts(queued?.text, text),
        files: [...(queued?.files ?? []), ...files],
        op: queued?.op ?? newOperation(),
      };
      setQueued(waiting);
      keepUnsent("queue", data.thread, { ...waiting, files: waiting.files.length });
    },
    takeBack: () => {
      putBack(data.thread);
      field.current.focus();
    },
    /** What this tab kept when it was loaded anew. */
    comeBack: (thread) => {
      const kept = keptUnsent("queue", thread);
      if (kept === null || queued !== null) return;
      if (kept.files === 0) {
        setQueued({ ...kept, files: [] });
        return;
      }
      setText(joinTexts(kept.text, field.current.value));
      keepUnsent("queue", thread, null);
      keepUnsent("draft", thread, field.current.value);
      say(FILES_NOT_KEPT);
    },
  };
}
