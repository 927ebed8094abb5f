/* Keeps the page's key, which came with the cookie, and its person, and goes on to the page. A classic script, run once. */
(function () {
  "use strict";
  try {
    var given = /** @type {Record<string, string>} */ (/** @type {HTMLElement} */ (document.currentScript).dataset);
    var at = given.root === "/" ? "" : ":" + given.root; // as in assets/modules/browser/addresses.mjs
    localStorage.setItem("waymark.page-key" + at, given.pageKey);
    localStorage.setItem("waymark.person" + at, given.person); // pages of another person leave: see session.mjs
    location.replace(given.next);
  } catch {
    document.documentElement.textContent = "Waymark needs this site's storage. Allow it, and open a new link.";
  }
})();
