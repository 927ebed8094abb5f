/** Scroll the transcript: at the end unless the reader went up, and unmoved when earlier messages are added above. */
const { useCallback, useEffect, useLayoutEffect, useRef, useState } = window.React;

/** Closer to the end than this counts as being there. */
const AT_END_PX = 40;
/** Earlier messages are requested this close to the top. */
const NEAR_TOP_PX = 600;

const distanceToEnd = (element) => element.scrollHeight - element.scrollTop - element.clientHeight;

/**
 * @param {{firstId: string|undefined, onNearTop: () => void}} options
 * @returns {{scroller: object, column: object, onScroll: () => void, isAway: boolean, jumpToEnd: () => void,
 *   stopFollowing: () => void}}
 */
export function useScrolling({ firstId, onNearTop }) {
  const scroller = useRef(null);
  const column = useRef(null);
  const isAtEnd = useRef(true);
  const last = useRef({ scrollTop: 0, scrollHeight: 0 });
  const [isAway, setIsAway] = useState(false);
  const scrollTo = useCallback((top) => {
    scroller.current.scrollTop = top;
    last.current = { scrollTop: scroller.current.scrollTop, scrollHeight: scroller.current.scrollHeight };
  }, []);
  const scrollToEnd = useCallback(() => scrollTo(scroller.current.scrollHeight), [scrollTo]);
  const jumpToEnd = useCallback(() => {
    isAtEnd.current = true;
    setIsAway(false);
    scrollToEnd();
  }, [scrollToEnd]);
  /** Do not follow the next changes: the reader looks at something further up. */
  const stopFollowing = useCallback(() => {
    isAtEnd.current = false;
  }, []);

  const onScroll = useCallback(() => {
    const element = scroller.current;
    if (distanceToEnd(element) <= AT_END_PX) isAtEnd.current = true;
    else if (isMovedUp(element, last.current)) isAtEnd.current = false;
    last.current = { scrollTop: element.scrollTop, scrollHeight: element.scrollHeight };
    setIsAway(!isAtEnd.current);
    if (element.scrollTop < NEAR_TOP_PX) onNearTop();
  }, [onNearTop]);
  useResize([column, scroller], () => {
    last.current.scrollHeight = scroller.current.scrollHeight;
    if (isAtEnd.current) scrollToEnd();
    else setIsAway(distanceToEnd(scroller.current) > AT_END_PX);
  });
  useLayoutEffect(() => {
    if (isAtEnd.current) scrollToEnd(); // at once: an answer that shrinks and then grows would look like a reader going up
  });
  useAnchor({ scroller, column, isAtEnd, firstId, scrollToEnd, scrollTo });
  return { scroller, column, onScroll, isAway, jumpToEnd, stopFollowing };
}

/** Text may grow between our scroll and its event: only a move upwards shows that the reader leaves the end. Text that
 *  shrinks, as when an answer becomes a card, moves it too. */
function isMovedUp(element, last) {
  return element.scrollTop < last.scrollTop - 1 && element.scrollHeight >= last.scrollHeight;
}

/** Keep the first visible message in place when messages are added above. */
function useAnchor({ scroller, column, isAtEnd, firstId, scrollToEnd, scrollTo }) {
  const anchor = useRef(null);
  const knownFirst = useRef(firstId);
  // Read while the old messages are still on the page. Positions from the last scroll would be stale:
  // content-visibility gives messages their true height only afterwards.
  if (firstId !== knownFirst.current && scroller.current && !isAtEnd.current) {
    anchor.current = findFirstVisible(scroller.current, column.current);
  }
  knownFirst.current = firstId;
  useLayoutEffect(() => {
    const visible = anchor.current;
    if (isAtEnd.current) scrollToEnd();
    else if (visible?.element.isConnected)
      scrollTo(scroller.current.scrollTop + visible.element.getBoundingClientRect().top - visible.top);
    anchor.current = null;
  }, [firstId, scrollToEnd, scrollTo]);
}

/** @param {{current: Element}[]} elements @param {() => void} onResize */
function useResize(elements, onResize) {
  const latest = useRef(onResize);
  latest.current = onResize;
  useEffect(() => {
    const observer = new ResizeObserver(() => latest.current());
    for (const { current } of elements) observer.observe(current);
    return () => observer.disconnect();
  }, []);
}

/** @returns {{element: Element, top: number}|null} the message at the upper edge, and its position */
function findFirstVisible(scroller, column) {
  const edge = scroller.getBoundingClientRect().top;
  for (const element of column.querySelectorAll(":scope > article")) {
    const box = element.getBoundingClientRect();
    if (box.bottom > edge) return { element, top: box.top };
  }
  return null;
}
