/* Sets the side panes before the first paint, inline, so that none moves, and the path of a page that has another. */
(function () {
  "use strict";
  var root = document.documentElement;
  var path = String(root.dataset.root); // a page that was reached without the path of Waymark goes there
  if (!location.pathname.startsWith(path)) {
    location.replace(path + (location.pathname + "/" === path ? "" : location.pathname.slice(1)) + location.search);
  }
  root.toggleAttribute("data-mac", /Mac|iP(hone|ad)/.test(navigator.platform)); // for the names of keys

  // The same keys and names as in assets/modules/page/panes.mjs.
  ["threads", "history"].forEach(function (name) {
    try {
      var pane = JSON.parse(localStorage.getItem("waymark.pane." + name) || "{}") || {};
      if (pane.state === "open" || pane.state === "folded") root.setAttribute("data-" + name, pane.state);
      if (typeof pane.width === "number") root.style.setProperty("--" + name + "-width", pane.width + "rem");
    } catch {
      // storage is blocked: as at first
    }
  });
})();
