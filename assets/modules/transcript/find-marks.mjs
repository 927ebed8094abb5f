/** Mark the words that were found in the rendered messages, by the browser's highlights: no element is changed. */
import { foldText } from "../words/direction.mjs";

const UNSPACED =
  "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
/** As checkpoints/search/words.py divides a text. */
const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}]|[\\u0300-\\u036f])+`, "gu");
const MAX_WORD_CHARS = 64;
const MAX_RANGES = 2000;
const TEXTS = ".prose, .tool-body pre";
const CHANGES = { childList: true, characterData: true, subtree: true };

/** @typedef {{words: string[], prefix: boolean}} Term  a phrase; `prefix`: its last word is the beginning of a word */

function foldWord(word) {
  return foldText(word).replace(/[^\p{L}\p{N}]/gu, "").slice(0, MAX_WORD_CHARS);
}

function* iterateWords(element) {
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const node = /** @type {Text} */ (nodes.currentNode);
    for (const { 0: word, index } of node.data.matchAll(WORD)) {
      const text = foldWord(word);
      if (text !== "") yield { text, node, start: index, end: index + word.length };
    }
  }
}

/** @returns {Range[]} where an element has the phrase */
function findRanges(element, { words, prefix }) {
  const ranges = [];
  const recent = [];
  const isWanted = ({ text }, place) =>
    prefix && place === words.length - 1 ? text.startsWith(words[place]) : text === words[place];
  for (const word of iterateWords(element)) {
    if (recent.push(word) > words.length) recent.shift();
    if (recent.length < words.length || !recent.every(isWanted)) continue;
    const range = document.createRange();
    range.setStart(recent[0].node, recent[0].start);
    range.setEnd(word.node, word.end);
    ranges.push(range);
  }
  return ranges;
}

/** The marks of one conversation. They follow its messages, also the answer that is being written. */
export class FoundMarks {
  #log;
  #onChange;
  /** @type {Term|null} */
  #term = null;
  #rangesByArticle = new WeakMap();
  #observer = new MutationObserver((records) => this.#follow(records));
  #frame = 0;

  /** @param {Element} log @param {() => void} onChange called when messages have changed and are marked */
  constructor(log, onChange) {
    this.#log = log;
    this.#onChange = onChange;
    this.#observer.observe(log, CHANGES);
  }

  /** @param {Term|null} term */
  search(term) {
    this.#term = term;
    this.#rangesByArticle = new WeakMap();
    this.select(null);
    this.#mark();
  }

  /**
   * @param {Element} element of a message
   * @returns {Range[]} those of the message itself, and not of a result in its cards
   */
  list(element) {
    const ranges = this.#readRanges(element.closest("article"));
    return ranges.filter(
      ({ startContainer }) =>
        startContainer.isConnected && startContainer.parentElement.closest("[data-message-id]") === element,
    );
  }

  /** @param {Range|null} range to be marked as the current one */
  select(range) {
    setHighlight("found-current", range ? [range] : []);
  }

  end() {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
    for (const name of ["found", "found-current"]) setHighlight(name, []);
  }

  #follow(records) {
    for (const { target } of records) {
      const article = (target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement)?.closest("article");
      if (article) this.#rangesByArticle.delete(article);
    }
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#mark();
      this.#onChange();
    });
  }

  #mark() {
    const found = [];
    for (const article of this.#log.querySelectorAll("article")) found.push(...this.#readRanges(article));
    setHighlight("found", found.slice(0, MAX_RANGES));
  }

  #readRanges(article) {
    const term = this.#term;
    if (term === null) return [];
    if (!this.#rangesByArticle.has(article))
      this.#rangesByArticle.set(
        article,
        Array.from(article.querySelectorAll(TEXTS), (text) => findRanges(text, term)).flat(),
      );
    return this.#rangesByArticle.get(article);
  }
}

/** Set a highlight; a browser without them shows only the frame around the message. */
function setHighlight(name, ranges) {
  if (!window.CSS?.highlights) return;
  if (ranges.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, Object.assign(new Highlight(...ranges), { priority: name === "found" ? 0 : 1 }));
}
