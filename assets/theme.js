/* Chooses light or dark before the first paint, on the pages before the sign-in. A classic script, run once. */
(function () {
  "use strict";
  var choice = "system";
  try {
    choice = localStorage.getItem("waymark.theme") || "system";
  } catch (error) {
    choice = "system"; // storage is blocked: follow the system
  }
  var dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-bs-theme", dark ? "dark" : "light");
})();
