/* Sets light or dark before the first paint, so that no dark page flashes white, and follows the system. A classic script,
 * of the pages before the sign-in as well. */
(function () {
  "use strict";
  var root = document.documentElement;
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
    /** @type {HTMLMetaElement|null} */
    var themeColor = document.querySelector("meta[name=theme-color]"); // of the window around an installed page
    if (themeColor) themeColor.content = String(dark ? themeColor.dataset.dark : themeColor.dataset.light);
  }
  applyTheme(choice);
  system.addEventListener("change", () => applyTheme(choice));
  window.waymark = { applyTheme: applyTheme }; // settings/browser-options.mjs chooses another
})();
