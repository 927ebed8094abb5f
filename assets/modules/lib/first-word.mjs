/** Work that waits until the first word of an answer is painted. */
const MAX_WAIT_MS = 400; // the model may think for longer
const EVENT = "waymark-first-word";

/** Report that an answer has its first word, or is over. */
export const reportFirstWord = () => document.dispatchEvent(new Event(EVENT));

/** @param {() => void} work called once, after the next first word or MAX_WAIT_MS */
export function afterFirstWord(work) {
  const controller = new AbortController();
  const run = () => {
    clearTimeout(timer);
    controller.abort();
    requestAnimationFrame(() => setTimeout(work)); // after the frame that paints it
  };
  const timer = setTimeout(run, MAX_WAIT_MS);
  document.addEventListener(EVENT, run, { signal: controller.signal });
}
