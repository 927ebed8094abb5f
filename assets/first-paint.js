/* Sets the theme and the side panes before the first paint, inline: no dark page flashes white, and no pane moves. */
(function () {
  "use strict";
  var root = document.documentElement;
  var path = String(root.dataset.root); // a page that was reached without the path of Waymark goes there
  if (!location.pathname.startsWith(path)) {
    location.replace(path + (location.pathname + "/" === path ? "" : location.pathname.slice(1)) + location.search);
  }
  var system = matchMedia("(prefers-color-scheme: dark)");
  var choice = "system";
  try {
    choice = localStorage.getItem("waymark.theme") || "system";
  } catch {
    // storage is blocked: follow the system
  }
  /** @param {string} chosen */
  function applyTheme(chosen) {
    choice = chosen;
    var dark = choice === "dark" || (choice !== "light" && system.matches);
    root.setAttribute("data-bs-theme", dark ? "dark" : "light");
    root.setAttribute("data-theme-choice", choice);
    // Of the window around an installed page.
    var themeColor = /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=theme-color]"));
    themeColor.content = String(dark ? themeColor.dataset.dark : themeColor.dataset.light);
  }
  applyTheme(choice);
  system.addEventListener("change", () => applyTheme(choice));
  window.waymark = { applyTheme: applyTheme }; // page/theme.mjs chooses another
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
