/** Painting: of what stands in the page, and of the first word of an answer, for which other work waits. */

const MAX_PAINT_MS = 1000; // a page that nobody sees is not painted; a busy machine paints late

/** @returns {Promise<void>} when the next frame is painted, or would have been */
export const waitForPaint = () =>
  new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, MAX_PAINT_MS);
  });

const MAX_WAIT_MS = 200; // the model may think for longer
const EVENT = "waymark-first-word";

let lastReport = -Infinity;

/** Report that an answer has its first word, or is over. */
export function reportFirstWord() {
  lastReport = performance.now();
  document.dispatchEvent(new Event(EVENT));
}

/**
 * Wait until the first word of an answer is painted, or for MAX_WAIT_MS.
 * @param {number} since the message was sent: performance.now()
 */
export async function waitForFirstWord(since) {
  if (lastReport < since) await waitForReport();
  await waitForPaint();
}

const waitForReport = () =>
  new Promise((resolve) => {
    setTimeout(resolve, MAX_WAIT_MS);
    document.addEventListener(EVENT, resolve, { once: true });
  });
