/* Keeps the page's key, which came with the cookie, and its person, and goes on to the page. A classic script, run once. */
(function () {
  "use strict";
  try {
    var given = /** @type {Record<string, string>} */ (/** @type {HTMLElement} */ (document.currentScript).dataset);
    localStorage.setItem("waymark.page-key", given.pageKey);
    localStorage.setItem("waymark.person", given.person); // pages of another person leave: see session.mjs
    location.replace(given.next);
  } catch {
    document.documentElement.textContent = "Waymark needs this site's storage. Allow it, and open a new link.";
  }
})();
