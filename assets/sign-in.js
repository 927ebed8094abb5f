/* Keeps the page's key, which came with the cookie for a link, and goes on to the page. A classic script, run once. */
(function () {
  "use strict";
  try {
    localStorage.setItem("waymark.page-key", document.currentScript.dataset.pageKey);
    location.replace("/");
  } catch (error) {
    document.documentElement.textContent = "Waymark needs this site's storage. Allow it, and open a new link.";
  }
})();
