/** The bubble of the answer that is being written. React renders it once; the stream writes into it. */
import { decorate } from "./prose.mjs";

const { createElement: h, memo } = window.React;

/**
 * Writes deltas into the bubble, at most once a frame. Lives outside React so that a delta renders nothing.
 * @param {() => Element|null} bubble finds the element; it may come and go
 */
export function createLiveText(bubble) {
  let stable = "";
  let tail = "";
  let shown = 0;
  let frame = 0;

  function paint() {
    frame = 0;
    const element = bubble();
    if (!element) return;
    const [stableElement, tailElement] = element.children;
    if (stable.length > shown) {
      stableElement.insertAdjacentHTML("beforeend", stable.slice(shown));
      decorate(stableElement);
      shown = stable.length;
    }
    tailElement.innerHTML = tail;
    element.classList.toggle("has-text", stable !== "" || tail !== "");
  }

  function schedule() {
    frame ||= requestAnimationFrame(paint);
  }

  return {
    append(stableAddition, newTail) {
      stable += stableAddition;
      tail = newTail;
      schedule();
    },
    /** Start over with this text; also fills a bubble that has just come. */
    replace(newStable, newTail) {
      stable = newStable;
      tail = newTail;
      this.repaint();
    },
    repaint() {
      cancelAnimationFrame(frame);
      shown = 0;
      const element = bubble();
      if (element) element.children[0].textContent = "";
      paint();
    },
    isEmpty: () => stable === "" && tail === "",
    stop: () => cancelAnimationFrame(frame),
  };
}

/** @param {{bubbleRef: (element: Element|null) => void, busy: boolean, label: string|null}} props */
function LiveBubble({ bubbleRef, busy, label }) {
  return h(
    "article",
    {
      className: "message message-assistant live",
      "aria-label": "Waymark is answering",
      "aria-busy": busy,
      "data-testid": "message",
      "data-role": "assistant",
      "data-state": "partial",
    },
    h("div", { className: "prose live-text", ref: bubbleRef }, h("div", { className: "stable" }), h("div", { className: "tail" })),
    label && h("p", { className: "quiet" }, label),
    busy && h("div", { className: "thinking", "aria-hidden": true }, h("span"), h("span"), h("span")),
  );
}

export const Live = memo(LiveBubble);
