/** Where the transcript is scrolled to: at the end unless the reader went up, and still there when history is put above. */
const { useCallback, useEffect, useLayoutEffect, useRef, useState } = window.React;

/** Closer to the end than this, in pixels, counts as being there. */
const AT_END = 40;
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

/** @returns {{element: Element, top: number}|null} the message at the upper edge, and where it stands */
function firstVisible(scroller, column) {
  const edge = scroller.getBoundingClientRect().top;
  for (const element of column.querySelectorAll(":scope > article")) {
    const box = element.getBoundingClientRect();
    if (box.bottom > edge) return { element, top: box.top };
  }
  return null;
}
