/** Files that the page saves. */

const KEPT_MS = 60_000; // the browser is still writing the file

/** @param {string} name @param {Blob} content */
export function saveFile(name, content) {
  const href = URL.createObjectURL(content);
  Object.assign(document.createElement("a"), { download: name, href }).click();
  setTimeout(() => URL.revokeObjectURL(href), KEPT_MS);
}
