/** Scroll to a message that another panel requests. */
import { takeWantedMessage } from "../state/show-message.mjs";

const { useCallback, useEffect, useLayoutEffect, useRef } = window.React;

const LATEST = "(latest)"; // in the place of a message's id; no message has it
/** Events with which the reader takes over the scrolling. */
const READER_EVENTS = ["wheel", "touchmove", "pointerdown", "keydown"];

/**
 * Show and mark the message that a "waymark-show" event names; without one, show the latest. A message that is not loaded is
 * requested first.
 * @param {import("../state/types.mjs").TranscriptData} data
 * @param {boolean} isWhole whether all of the messages are on the page
 * @returns {() => void} brings the latest into view
 */
export function useScrollToMessage(data, isWhole, act, { scroller, jumpToEnd, stopFollowing }) {
  const latest = useRef(null);
  const wantedId = useRef(null);
  latest.current = { ...data, isWhole };

  const showLatest = useCallback(() => {
    stopKeeping();
    markArticle(null);
    wantedId.current = latest.current.later ? LATEST : null;
    jumpToEnd();
    if (latest.current.later) act("latest");
  }, [act, jumpToEnd]);

  const show = useCallback((message) => {
    const element = document.querySelector(`#transcript [data-message-id="${CSS.escape(message)}"]`);
    if (element === null) return false;
    stopFollowing();
    markArticle(element.closest("article"));
    keepInView(() => bringIntoView(element, scroller.current), element.closest(".log-column"));
    return true;
  }, [scroller, stopFollowing]);

  useLayoutEffect(() => {
    // Dash drops the answer to an action when the next action follows, such as the refresh at a run's end.
    if (wantedId.current === LATEST && data.later) act("latest");
    else if (wantedId.current === LATEST || (wantedId.current !== null && show(wantedId.current))) wantedId.current = null;
  }, [data, isWhole, act, show]);

  const onShow = useCallback(({ detail: { message, branch } }) => {
    wantedId.current = null;
    if (message === null) showLatest();
    else if (!show(message)) {
      wantedId.current = message;
      stopFollowing();
      if (!isToCome(latest.current, message)) act(...(branch ? ["visit", { message, branch }] : ["show", { message }]));
    }
  }, [act, show, stopFollowing, showLatest]);
  useShowRequests(onShow, data.thread);
  return showLatest;
}

/** Whether a message, or a tool's, is loaded and will be on the page in a moment. */
const isToCome = ({ messages, isWhole }, message) =>
  !isWhole && messages.some(({ id, tools }) => id === message || tools.some((tool) => tool.message_id === message));

function useShowRequests(onShow, thread) {
  useEffect(() => {
    const wanted = thread && takeWantedMessage(thread);
    if (wanted?.message) onShow({ detail: wanted });
  }, [thread, onShow]);
  useEffect(() => {
    const onRequest = (event) => {
      event.preventDefault(); // it is heard
      onShow(event);
    };
    document.addEventListener("waymark-show", onRequest);
    return () => {
      stopKeeping();
      document.removeEventListener("waymark-show", onRequest);
    };
  }, [onShow]);
}

/** Scroll to the end of the element. Not by scrollIntoView, which moves the whole page as well. */
function bringIntoView(element, scroller) {
  if (!element.isConnected) return;
  const [view, box] = [scroller, element].map((each) => each.getBoundingClientRect());
  scroller.scrollTop += box.bottom - view.bottom + Math.max(view.height / 4, (view.height - box.height) / 2);
}

let stopKeeping = () => undefined;

/**
 * Repeat until the reader acts: content-visibility gives a hidden message its true height only when it comes near.
 * @param {() => void} bring @param {Element|null} column of the messages
 */
export function keepInView(bring, column) {
  stopKeeping();
  const observer = new ResizeObserver(bring);
  if (column) observer.observe(column);
  stopKeeping = () => {
    observer.disconnect();
    for (const kind of READER_EVENTS) document.removeEventListener(kind, stopKeeping, true);
  };
  for (const kind of READER_EVENTS) document.addEventListener(kind, stopKeeping, true);
}

/** Mark an article outside React: else every rendering of the message would need to know the mark. */
function markArticle(article) {
  document.querySelector("[data-place]")?.removeAttribute("data-place");
  article?.setAttribute("data-place", "");
}
