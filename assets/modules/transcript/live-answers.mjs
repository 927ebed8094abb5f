/** The answers that are being written. They are written into the page outside React, so that a delta renders nothing. */
import { decorateProse } from "../message/prose.mjs";
import { nameReasoning } from "./reasoning.mjs";

const WRITTEN_BLOCKS = "p, h1, h2, h3, h4, h5, h6, ul, ol, blockquote"; // code is always from left to right
const NOTHING = { stable: "", tail: "", reasoning: "" };

/** The text of an answer, of which only the `tail` may still change, and the reasoning before it. */
export class LiveAnswer {
  #texts = NOTHING;
  #beganAt = 0;
  #durationMs = -1; // of the reasoning; below 0: it goes on
  #shownChars = 0;
  /** @type {Element|null} */ #bubble = null;
  /** @type {HTMLDetailsElement|null} */ #card = null;

  /** The elements come and go. @param {Element|null} element */
  setBubble = (element) => {
    this.#bubble = element;
    this.#shownChars = 0;
    this.#paint();
  };

  /** @param {HTMLDetailsElement|null} element */
  setCard = (element) => {
    this.#card = element;
    this.#paint();
  };

  /** @param {Record<string, any>} added */
  append({ stable = "", tail = this.#texts.tail, reasoning = "" }) {
    if (this.#texts.reasoning === "") this.#beganAt = Date.now();
    this.#texts = { stable: this.#texts.stable + stable, tail, reasoning: this.#texts.reasoning + reasoning };
    this.#paint();
  }

  /** Start over with these texts. @param {Record<string, any>} [texts] */
  replace({ stable, tail, reasoning } = NOTHING) {
    this.#texts = { stable, tail, reasoning };
    this.#beganAt = Date.now();
    this.#durationMs = -1;
    this.#shownChars = 0;
    this.#bubble?.children[0].replaceChildren();
    this.#card?.querySelector(".reasoning-text")?.replaceChildren();
    if (this.#card && reasoning === "") this.#card.open = false;
    this.#paint();
  }

  isEmpty() {
    return this.#isTextEmpty() && this.#texts.reasoning === "";
  }

  #isTextEmpty() {
    return this.#texts.stable === "" && this.#texts.tail === "";
  }

  #paint() {
    if (this.#bubble) this.#paintText(this.#bubble);
    if (this.#durationMs < 0 && !this.#isTextEmpty()) this.#durationMs = Date.now() - this.#beganAt;
    if (this.#card) this.#paintReasoning(this.#card);
  }

  #paintText(bubble) {
    const [stableElement, tailElement] = bubble.children;
    if (this.#texts.stable.length > this.#shownChars) {
      stableElement.insertAdjacentHTML("beforeend", this.#texts.stable.slice(this.#shownChars));
      decorateProse(stableElement);
      this.#shownChars = this.#texts.stable.length;
    }
    tailElement.innerHTML = this.#texts.tail;
    directBegunBlock(stableElement, tailElement);
    bubble.classList.toggle("has-text", !this.#isTextEmpty());
  }

  #paintReasoning(card) {
    const shown = card.querySelector(".reasoning-text");
    const added = this.#texts.reasoning.slice(shown.textContent.length);
    if (added !== "") shown.append(added);
    card.hidden = this.#texts.reasoning === "";
    card.querySelector(".reasoning-label").textContent = nameReasoning(this.#durationMs);
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

/** The one answer, and those of several models by the numbers of the candidates. */
export class LiveAnswers {
  single = new LiveAnswer();
  #candidates = new Map();

  /** @param {number} number @returns {LiveAnswer} */
  find(number) {
    if (!this.#candidates.has(number)) this.#candidates.set(number, new LiveAnswer());
    return this.#candidates.get(number);
  }

  /**
   * Write what a frame brings. Frames of other kinds change nothing.
   * @param {import("../state/types.mjs").Frame} frame
   * @param {boolean} isKnown whether the data has all that the frame tells of: text without a message stays until then
   */
  show(frame, isKnown) {
    if (frame.kind === "delta") this.single.append(frame);
    else if (frame.kind === "reasoning") this.single.append({ reasoning: frame.text });
    else if (frame.kind === "texts")
      for (const [number, added] of Object.entries(frame.answers)) this.find(Number(number)).append(added);
    else if (frame.kind === "withdrawn") this.find(frame.number).replace(frame);
    else if (frame.kind === "answer") this.find(frame.answer.number).replace();
    else if (frame.kind === "hello" && frame.run) this.#resume(frame.run);
    else this.#clear(frame.kind, isKnown);
  }

  #resume(run) {
    this.single.replace(run);
    for (const each of run.candidates ?? []) this.find(each.number).replace(each);
  }

  #clear(kind, isKnown) {
    if (kind === "start" || kind === "message" || (isKnown && (kind === "hello" || kind === "end"))) this.single.replace();
    if (kind === "start" || kind === "end") for (const answer of this.#candidates.values()) answer.replace();
  }
}
