/** Where the transcript is scrolled to: at the end unless the reader went up, and still there when history is put above. */
const { useCallback, useEffect, useLayoutEffect, useRef, useState } = window.React;

/** Closer to the end than this, in pixels, counts as being there. */
const AT_END = 40;
/** What a reader does who goes on. */
const READER = ["wheel", "touchmove", "pointerdown", "keydown"];
/** Earlier messages are asked for when the top is this near, in pixels. */
const NEAR_TOP = 600;

const distanceToEnd = (element) => element.scrollHeight - element.scrollTop - element.clientHeight;

/**
 * @param {{firstId: string|undefined, onNearTop: () => void}} options
 * @returns {{scroller: object, column: object, onScroll: () => void, away: boolean, jump: () => void, stay: () => void}}
 */
export function useScrolling({ firstId, onNearTop }) {
  const scroller = useRef(null);
  const column = useRef(null);
  const atEnd = useRef(true);
  const lastTop = useRef(0);
  const anchor = useRef(null);
  const knownFirst = useRef(firstId);
  const [away, setAway] = useState(false);

  // Read while the old messages still stand on the page. Places noted at the last scroll would be stale by now:
  // content-visibility gives messages their true height only afterwards.
  if (firstId !== knownFirst.current && scroller.current && !atEnd.current) {
    anchor.current = firstVisible(scroller.current, column.current);
  }
  knownFirst.current = firstId;

  const toEnd = useCallback(() => {
    const element = scroller.current;
    element.scrollTop = element.scrollHeight;
    lastTop.current = element.scrollTop;
  }, []);

  const jump = useCallback(() => {
    atEnd.current = true;
    setAway(false);
    toEnd();
  }, [toEnd]);

  /** What changes next is not followed: the reader looks at something further up. */
  const stay = useCallback(() => {
    atEnd.current = false;
  }, []);

  const onScroll = useCallback(() => {
    const element = scroller.current;
    const distance = distanceToEnd(element);
    // Text may grow between our scroll and its event: only a move upwards is the reader's wish to leave the end.
    if (distance <= AT_END) atEnd.current = true;
    else if (element.scrollTop < lastTop.current - 1) atEnd.current = false;
    lastTop.current = element.scrollTop;
    setAway(!atEnd.current);
    if (element.scrollTop < NEAR_TOP) onNearTop();
  }, [onNearTop]);

  useEffect(() => {
    const keepAtEnd = () => {
      if (atEnd.current) toEnd();
      else setAway(distanceToEnd(scroller.current) > AT_END);
    };
    const observer = new ResizeObserver(keepAtEnd);
    observer.observe(column.current);
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, [toEnd]);

  // Messages came above: what the reader was looking at stays where it was.
  useLayoutEffect(() => {
    const kept = anchor.current;
    if (atEnd.current) toEnd();
    else if (kept?.element.isConnected) {
      scroller.current.scrollTop += kept.element.getBoundingClientRect().top - kept.top;
      lastTop.current = scroller.current.scrollTop;
    }
    anchor.current = null;
  }, [firstId, toEnd]);

  return { scroller, column, onScroll, away, jump, stay };
}

/**
 * Shows the message that another panel asks for ("waymark-show"; without one, the latest), wherever it is, and marks it. What the
 * page does not hold is asked for first.
 * @param {{messages: object[], later: boolean}} data
 * @returns {() => void} brings the latest into view
 */
export function usePlace(data, act, { scroller, jump, stay }) {
  const latest = useRef(data);
  const wanted = useRef(null);
  latest.current = data;

  const toLatest = useCallback(() => {
    release();
    mark(null);
    wanted.current = null;
    jump();
    if (latest.current.later) act("latest");
  }, [act, jump]);

  const show = useCallback((message) => {
    const element = document.querySelector(`#transcript [data-message-id="${CSS.escape(message)}"]`);
    if (element === null) return false;
    stay();
    mark(element.closest("article"));
    const bring = () => {
      if (!element.isConnected) return;
      const [view, box] = [scroller.current, element].map((each) => each.getBoundingClientRect());
      // Its end is the place. Not by scrollIntoView, which moves the whole page as well.
      scroller.current.scrollTop += box.bottom - view.bottom + Math.max(view.height / 4, (view.height - box.height) / 2);
    };
    hold(bring, element.closest(".log-column"));
    return true;
  }, [scroller, stay]);

  useLayoutEffect(() => {
    if (wanted.current !== null && show(wanted.current)) wanted.current = null;
  }, [data.messages, show]);

  useEffect(() => {
    const onShow = ({ detail: { message } }) => {
      if (message === null) toLatest();
      else if (!show(message)) {
        wanted.current = message;
        stay();
        act("show", { message });
      }
    };
    document.addEventListener("waymark-show", onShow);
    return () => {
      release();
      document.removeEventListener("waymark-show", onShow);
    };
  }, [act, show, stay, toLatest]);
  return toLatest;
}

let release = () => undefined;

/** Until the reader does something: content-visibility gives what was out of sight its true height only when it comes near. */
function hold(bring, column) {
  release();
  const observer = new ResizeObserver(bring);
  observer.observe(column);
  release = () => {
    observer.disconnect();
    for (const kind of READER) document.removeEventListener(kind, release, true);
  };
  for (const kind of READER) document.addEventListener(kind, release, true);
}

/** Not by React: the next rendering of the message would have to know of it. */
function mark(article) {
  document.querySelector("[data-place]")?.removeAttribute("data-place");
  article?.setAttribute("data-place", "");
}

/** @returns {{element: Element, top: number}|null} the message at the upper edge, and where it stands */
function firstVisible(scroller, column) {
  const edge = scroller.getBoundingClientRect().top;
  for (const element of column.querySelectorAll(":scope > article")) {
    const box = element.getBoundingClientRect();
    if (box.bottom > edge) return { element, top: box.top };
  }
  return null;
}
