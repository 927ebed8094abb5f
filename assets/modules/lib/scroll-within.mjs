/**
 * Scroll a list as little as its row needs to be in view. Neither the page nor the focus moves, unlike with `scrollIntoView`.
 * @param {HTMLElement} list
 * @param {HTMLElement|null} row
 */
export function scrollWithin(list, row) {
  if (row === null) return;
  const [view, { top, bottom }] = [list.getBoundingClientRect(), row.getBoundingClientRect()];
  if (top < view.top) list.scrollTop += top - view.top;
  if (bottom > view.bottom) list.scrollTop += bottom - view.bottom;
}
