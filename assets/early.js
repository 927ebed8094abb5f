/* Runs before the first paint, as a classic script in <head>.
 *
 * 1. Sets the theme, so that a dark page never flashes white.
 * 2. Puts stand-ins on window.waymark. Dash fetches its layout while the browser still fetches our modules.
 *    Whichever is first, a stand-in waits for the module and then renders the real component.
 * 3. Adds the page's key to every request. The cookie alone, which browsers send to every port of this host, opens nothing.
 * 4. Requests what Dash will request first: a preload could not carry the key.
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

  var originalFetch = window.fetch;
  var earlyReplies = {};
  window.fetch = function (address, options) {
    var early = earlyReplies[address];
    if (early) {
      delete earlyReplies[address];
      return early;
    }
    var headers = new Headers((options || {}).headers);
    try {
      headers.set("X-Waymark-Page-Key", localStorage.getItem("waymark.page-key") || "");
    } catch (error) {
      // storage is blocked: only a server without a sign-in answers
    }
    return originalFetch(address, Object.assign({}, options, { headers: headers })).then(function (reply) {
      if (reply.status === 401) location.replace("/sign-in"); // the session has ended
      return reply;
    });
  };
  ["/_dash-layout", "/_dash-dependencies"].forEach(function (address) {
    var reply = window.fetch(address);
    reply.catch(function () {}); // Dash reports it
    earlyReplies[address] = reply;
  });

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

  ["cycleTheme", "focusInDialog", "toggleSheet", "navigate", "closeDialog", "requestLog", "readPanels", "showUpdateToast"].forEach(function (name) {
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
