/* Chooses light or dark before the first paint, on the pages before the sign-in, and follows the system. A classic script. */
(function () {
  "use strict";
  var system = matchMedia("(prefers-color-scheme: dark)");
  var choice = "system";
  try {
    choice = localStorage.getItem("waymark.theme") || "system";
  } catch {
    choice = "system"; // storage is blocked: follow the system
  }
  function show() {
    var dark = choice === "dark" || (choice !== "light" && system.matches);
    document.documentElement.setAttribute("data-bs-theme", dark ? "dark" : "light");
  }
  system.addEventListener("change", show);
  show();
})();
