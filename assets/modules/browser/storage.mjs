/** What this browser keeps. Where its storage is full or blocked, a choice lasts until the page is closed. */

/** @typedef {"localStorage"|"sessionStorage"} Place  the second is of the tab alone */

/** @param {string} key @param {Place} [place] @returns {string|null} */
export function readKept(key, place = "localStorage") {
  try {
    return window[place].getItem(key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string|null} text @param {Place} [place] */
export function keep(key, text, place = "localStorage") {
  try {
    if (text === null) window[place].removeItem(key);
    else window[place].setItem(key, text);
  } catch {
    // It is full or blocked.
  }
}

/** @param {string} key @param {Place} [place] @returns {any} null also for what is no JSON */
export function readKeptJson(key, place) {
  try {
    return JSON.parse(readKept(key, place) ?? "null");
  } catch {
    return null;
  }
}
