/** The moment at which what stands in the page is painted. */
const MAX_PAINT_MS = 1000; // a page that nobody sees is not painted; a busy machine paints late

/** @returns {Promise<void>} when the next frame is painted, or would have been */
export const waitForPaint = () =>
  new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, MAX_PAINT_MS);
  });
