/** Scroll to a message that another panel requests. */
import { useListener } from "../controls/listening.mjs";
import { takeWantedMessage } from "../state/show-message.mjs";

const { useEffect, useLayoutEffect, useRef } = window.React;

/** @param {string} id @returns {HTMLElement|null} a message of the conversation, or a tool's */
export const findMessage = (id) => document.querySelector(`#transcript [data-message-id="${CSS.escape(id)}"]`);

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
  const wantedId = useRef(null);
  const showLatest = () => {
    stopKeeping();
    markArticle(null);
    wantedId.current = data.later ? LATEST : null;
    jumpToEnd();
    if (data.later) act("latest");
  };
  const show = (message) => {
    const element = findMessage(message);
    if (element === null) return false;
    stopFollowing();
    markArticle(element.closest("article"));
    keepInView(() => bringIntoView(element, scroller.current), element.closest(".log-column"));
    return true;
  };
  useLayoutEffect(() => {
    // Dash drops the answer to an action when the next action follows, such as the refresh at a run's end.
    if (wantedId.current === LATEST && data.later) act("latest");
    else if (wantedId.current === LATEST || (wantedId.current !== null && show(wantedId.current))) wantedId.current = null;
  }, [data, isWhole]);
  const showWanted = ({ message, branch }) => {
    wantedId.current = null;
    if (message === null) showLatest();
    else if (!show(message)) {
      wantedId.current = message;
      stopFollowing();
      if (isWhole || !isLoaded(data, message)) act(...(branch ? ["visit", { message, branch }] : ["show", { message }]));
    }
  };
  useShowRequests(data.thread, showWanted);
  return showLatest;
}

function useShowRequests(thread, showWanted) {
  useEffect(() => {
    const wanted = takeWantedMessage(thread);
    if (wanted?.message) showWanted(wanted);
    return () => stopKeeping();
  }, [thread]);
  useListener(document, "waymark-show", (event) => {
    event.preventDefault(); // it is heard
    showWanted(event.detail);
  });
}

/** Whether a message, or a tool's, is loaded: on a page that is not whole yet, it will be there in a moment. */
const isLoaded = ({ messages }, message) =>
  messages.some(({ id, tools }) => id === message || tools.some((tool) => tool.message_id === message));

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
