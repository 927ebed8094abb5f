/** The bubble of the running answer. React renders it once; the stream writes into it. */
import { decorateProse } from "../message/prose.mjs";
import { _ } from "../words/words.mjs";
import { LiveReasoningCard } from "./reasoning.mjs";

const { createElement: h, memo } = window.React;

const WRITTEN_BLOCKS = "p, h1, h2, h3, h4, h5, h6, ul, ol, blockquote"; // code is always from left to right

/** Write deltas into the bubble, at most once per animation frame. It is outside React, so that a delta renders nothing. */
export class LiveText {
  #findBubble;
  #stable = "";
  #tail = "";
  #shownChars = 0;
  #frame = 0;

  /** @param {() => Element|null} findBubble returns null while no bubble is mounted */
  constructor(findBubble) {
    this.#findBubble = findBubble;
  }

  append(stableAddition, newTail) {
    this.#stable += stableAddition;
    this.#tail = newTail;
    this.#frame ||= requestAnimationFrame(() => this.#paint());
  }

  /** Start over with this text. */
  replace(newStable, newTail) {
    this.#stable = newStable;
    this.#tail = newTail;
    this.repaint();
  }

  repaint() {
    this.stop();
    this.#shownChars = 0;
    const bubble = this.#findBubble();
    if (bubble) bubble.children[0].textContent = "";
    this.#paint();
  }

  isEmpty() {
    return this.#stable === "" && this.#tail === "";
  }

  stop() {
    cancelAnimationFrame(this.#frame);
  }

  #paint() {
    this.#frame = 0;
    const bubble = this.#findBubble();
    if (!bubble) return;
    const [stableElement, tailElement] = bubble.children;
    if (this.#stable.length > this.#shownChars) {
      stableElement.insertAdjacentHTML("beforeend", this.#stable.slice(this.#shownChars));
      decorateProse(stableElement);
      this.#shownChars = this.#stable.length;
    }
    tailElement.innerHTML = this.#tail;
    directBegunBlock(stableElement, tailElement);
    bubble.classList.toggle("has-text", !this.isEmpty());
  }
}

/**
 * Lay out a block that has one word yet, with no letter from right to left, in the direction of the block before it, or of
 * the person's message: an Arabic sentence may begin with a name in Latin letters, and would jump at the next word.
 */
function directBegunBlock(stable, tail) {
  const block = tail.lastElementChild;
  if (!block?.matches(WRITTEN_BLOCKS) || block.dir || /\S\s+\S/.test(block.textContent)) return;
  const asked = () => [...document.querySelectorAll('article[data-role="user"] > .prose > :last-child')].at(-1);
  const before = block.previousElementSibling ?? stable.lastElementChild ?? asked();
  if (before && getComputedStyle(before).direction === "rtl") block.dir = "rtl";
}

/**
 * @param {{bubbleRef: (element: Element|null) => void, cardRef: (element: Element|null) => void, busy: boolean,
 *   label: string|null}} props
 */
function LiveBubble({ bubbleRef, cardRef, busy, label }) {
  return h(
    "article",
    {
      className: "message message-assistant live",
      "aria-label": _("The agent is answering"),
      "aria-busy": busy,
      "data-testid": "message",
      "data-role": "assistant",
      "data-state": "partial",
    },
    h(LiveReasoningCard, { cardRef }),
    h(
      "div",
      { className: "prose live-text", ref: bubbleRef },
      h("div", { className: "stable" }),
      h("div", { className: "tail" }),
    ),
    label && h("p", { className: "quiet" }, label),
    busy && h("div", { className: "thinking", "aria-hidden": true }, h("span"), h("span"), h("span")),
  );
}

export const Live = memo(LiveBubble);

/** @param {{progress: import("../state/types.mjs").GraphProgressView}} props */
export function GraphProgress({ progress: { nodes, lines } }) {
  return h(
    "div",
    { className: "graph-progress quiet", "data-testid": "graph-progress" },
    lines.map((line, place) => h("p", { key: place }, line)),
    nodes.length > 0 && h("ul", { "aria-label": _("Nodes at work") }, nodes.map((node) => h("li", { key: node }, node))),
  );
}
