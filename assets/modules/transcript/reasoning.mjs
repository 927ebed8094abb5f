/** The folded card with the reasoning before an answer: of a message, and of the answer that is being written. */
import { icon } from "../controls/icons.mjs";
import { ShowAll } from "../message/show-all.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, memo } = window.React;

/** @param {number|null} durationMs @returns {string} */
function nameDuration(durationMs) {
  if (durationMs === null || durationMs < 1000) return _("Thought");
  return _("Thought for {durationMs} s", { durationMs: Math.round(durationMs / 1000) });
}

function Card({ label, text, more, cardRef, hidden }) {
  return h(
    "details",
    { className: "fold reasoning", "data-testid": "reasoning", ref: cardRef, hidden },
    h("summary", null, icon("chevron-right", "fold-arrow"), h("span", { className: "reasoning-label" }, label)),
    h("div", { className: "reasoning-text", tabIndex: 0, role: "group", "aria-label": _("Reasoning") }, text),
    more && h(ShowAll, { more }),
  );
}

/** @param {{reasoning: import("../state/types.mjs").ReasoningView}} props */
export function Reasoning({ reasoning }) {
  return h(Card, { label: nameDuration(reasoning.duration_ms), text: reasoning.text, more: reasoning.more });
}

/**
 * React renders it once, hidden; `LiveReasoning` shows it and writes into it.
 * @param {{cardRef: (element: Element|null) => void}} props
 */
export const LiveReasoningCard = memo(({ cardRef }) =>
  h(Card, { label: _("Thinking…"), text: null, cardRef, hidden: true }),
);

/** Writes reasoning into the card as it comes. Lives outside React so that a delta renders nothing. */
export class LiveReasoning {
  #findCard;
  #text = "";
  #beganAt = 0;
  #durationMs = -1; // below 0: it goes on

  /** @param {() => Element|null} findCard it may come and go */
  constructor(findCard) {
    this.#findCard = findCard;
  }

  append(text) {
    if (this.#text === "") this.#beganAt = Date.now();
    this.#text += text;
    this.#findCard()?.querySelector(".reasoning-text").append(text);
    this.#paintState();
  }

  /** Start over with this text. */
  replace(text) {
    this.#text = text;
    this.#beganAt = Date.now();
    this.#durationMs = -1;
    this.repaint();
  }

  /** The answer itself has begun. */
  end() {
    if (this.#durationMs >= 0) return;
    this.#durationMs = Date.now() - this.#beganAt;
    this.#paintState();
  }

  isEmpty() {
    return this.#text === "";
  }

  repaint() {
    const card = this.#findCard();
    if (!card) return;
    card.querySelector(".reasoning-text").textContent = this.#text;
    if (this.isEmpty()) card.open = false;
    this.#paintState();
  }

  #paintState() {
    const card = this.#findCard();
    if (!card) return;
    card.hidden = this.isEmpty();
    card.querySelector(".reasoning-label").textContent =
      this.#durationMs < 0 ? _("Thinking…") : nameDuration(this.#durationMs);
  }
}
