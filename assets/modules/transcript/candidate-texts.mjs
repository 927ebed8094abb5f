/** The texts of several models that write at the same time: a writer for each column. */
import { LiveText } from "./live.mjs";
import { LiveReasoning } from "./reasoning.mjs";

/** An element that comes and goes, and the writer into it, which stays. */
function createWriter(Writer) {
  let target = null;
  const writer = new Writer(() => target);
  const ref = (element) => {
    target = element;
    if (element) writer.repaint();
  };
  return { writer, ref };
}

/** The writers by the numbers of the candidates. */
export class CandidateTexts {
  #columns = new Map();

  /**
   * @param {number} number
   * @returns {{text: {writer: LiveText, ref: Function}, reasoning: {writer: LiveReasoning, ref: Function}}}
   */
  find(number) {
    if (!this.#columns.has(number))
      this.#columns.set(number, { text: createWriter(LiveText), reasoning: createWriter(LiveReasoning) });
    return this.#columns.get(number);
  }

  /** Write what a frame brings. Frames of other kinds change nothing. */
  show(frame) {
    if (frame.kind === "texts")
      for (const [number, added] of Object.entries(frame.answers)) this.#append(Number(number), added);
    else if (frame.kind === "withdrawn") this.#replace(frame);
    else if (frame.kind === "answer") this.#replace({ number: frame.answer.number, stable: "", tail: "", reasoning: "" });
    else if (frame.kind === "start" || frame.kind === "end") this.#clear();
    else if (frame.kind === "hello") for (const each of frame.run?.candidates ?? []) this.#replace(each);
  }

  stop() {
    for (const { text } of this.#columns.values()) text.writer.stop();
  }

  #append(number, { stable, tail, reasoning }) {
    const column = this.find(number);
    if (reasoning) column.reasoning.writer.append(reasoning);
    if (!stable && !tail) return;
    if (!column.reasoning.writer.isEmpty()) column.reasoning.writer.end();
    column.text.writer.append(stable, tail);
  }

  #replace({ number, stable, tail, reasoning }) {
    const column = this.find(number);
    column.reasoning.writer.replace(reasoning);
    column.text.writer.replace(stable, tail);
    if (reasoning && !column.text.writer.isEmpty()) column.reasoning.writer.end();
  }

  #clear() {
    for (const number of this.#columns.keys()) this.#replace({ number, stable: "", tail: "", reasoning: "" });
  }
}
