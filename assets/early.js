/* Runs before the first paint, as a classic script in <head>.
 *
 * 1. Sets the theme, so that a dark page never flashes white.
 * 2. Puts stand-ins on window.waymark. Dash fetches its layout while the browser still fetches our modules.
 *    Whichever is first, a stand-in waits for the module and then renders the real component.
 */
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
  document.documentElement.setAttribute("data-theme-choice", choice);

  var waymark = (window.waymark = { clientside: {} });
  var ready = new Promise(function (resolve) {
    waymark.provide = function (parts) {
      waymark.parts = parts;
      resolve(parts);
    };
  });

  ["Threads", "Transcript", "Composer", "Timeline", "Log", "Settings", "OutageBanner", "Icon"].forEach(function (name) {
    waymark[name] = function (props) {
      var state = React.useState(false);
      // Not in the first render, even if the module is there: Dash shows no change of another component (a toast, for
      // example) that an effect makes before that component listens. A layout effect costs no frame.
      React.useLayoutEffect(function () {
        var show = function () {
          state[1](true);
        };
        if (waymark.parts) show();
        else ready.then(show);
      }, []);
      return state[0] ? React.createElement(waymark.parts[name], props) : null;
    };
  });

  ["cycleTheme", "focusInDialog", "toggleSheet", "navigate", "closeDialog", "requestLog"].forEach(function (name) {
    waymark.clientside[name] = function () {
      var values = arguments;
      if (waymark.parts) return waymark.parts.clientside[name].apply(null, values);
      return ready.then(function (parts) {
        return parts.clientside[name].apply(null, values);
      });
    };
  });
  window.dash_clientside = Object.assign(window.dash_clientside || {}, { waymark: waymark.clientside });
})();
