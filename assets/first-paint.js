/* Runs before the first paint, as an inline script in <head>: a file would delay the first request for data.
 *
 * 1. Sets the theme and the side panes, so that a dark page never flashes white and no pane moves.
 * 2. Adds the page's key to every request. The cookie alone, which browsers send to every port of this host, opens nothing.
 *    Leaves the page when its session has ended, or another person has signed in in another tab, and nothing unsent in the
 *    browser. Tells when the server has another version of the page.
 * 3. Requests the layout, which our panels show before Dash does: a preload could not carry the key.
 * 4. Receives the modules (assets/waymark.mjs), whenever they come.
 * 5. Leaves the keys of an input method to it: no listener of the page hears them.
 * 6. Puts stand-ins on window.waymark and among Dash's clientside callbacks. Whichever is first, Dash or our modules, a
 *    stand-in waits for the module and then renders the real component, or calls the real callback.
 */
/* 1. */
(function () {
  "use strict";
  var root = document.documentElement;
  var choice = "system";
  try {
    choice = localStorage.getItem("waymark.theme") || "system";
  } catch (error) {
    choice = "system"; // storage is blocked: follow the system
  }
  var dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.setAttribute("data-bs-theme", dark ? "dark" : "light");
  root.setAttribute("data-theme-choice", choice);
  root.toggleAttribute("data-mac", /Mac|iP(hone|ad)/.test(navigator.platform)); // for the names of keys
  var themeColor = document.querySelector("meta[name=theme-color]");
  themeColor.content = dark ? themeColor.dataset.dark : themeColor.dataset.light;

  // The same keys and names as in assets/modules/page/panes.mjs.
  ["threads", "history"].forEach(function (name) {
    try {
      var pane = JSON.parse(localStorage.getItem("waymark.pane." + name)) || {};
      if (pane.state === "open" || pane.state === "folded") root.setAttribute("data-" + name, pane.state);
      if (typeof pane.width === "number") root.style.setProperty("--" + name + "-width", pane.width + "rem");
    } catch (error) {
      // storage is blocked: as at first
    }
  });
})();

/* 2. */
(function () {
  "use strict";
  var waymark = (window.waymark = { isLeaving: false });
  waymark.leaveSession = function (address) {
    // Below a path that a proxy takes away, the answers are another program's: see the first sentence of index.html.
    if (!/^\/(t\/|$)/.test(location.pathname)) return;
    waymark.isLeaving = true; // no socket is opened any more
    var forgetTexts = function () {
      try {
        sessionStorage.clear(); // unsent messages
      } catch (error) {
        // storage is blocked: nothing is there
      }
    };
    forgetTexts();
    window.addEventListener("pagehide", forgetTexts); // requests that end meanwhile put their texts back
    location.replace(address || "/sign-in");
  };
})();

(function () {
  "use strict";
  var waymark = window.waymark;
  var readPerson = function () {
    try {
      return localStorage.getItem("waymark.person");
    } catch (error) {
      return null; // storage is blocked
    }
  };
  var ownPerson = readPerson();
  /** Leave the page if it is of a person who is not signed in any more. Return whether it is. */
  waymark.leaveToAnother = function () {
    var person = readPerson();
    var isOfAnother = ownPerson !== null && person !== ownPerson;
    if (isOfAnother && !waymark.isLeaving) waymark.leaveSession(person && "/");
    return isOfAnother;
  };
  window.addEventListener("storage", waymark.leaveToAnother);
  window.addEventListener("pageshow", waymark.leaveToAnother); // it may come back as it was left
})();

(function () {
  "use strict";
  var waymark = window.waymark;
  var originalFetch = window.fetch;
  var ownFiles = document.querySelector("link[rel=icon]").href;
  var noteVersion = function (version) {
    if (version && !ownFiles.includes("/" + version + "/")) document.dispatchEvent(new Event("waymark-new-page"));
  };
  waymark.earlyReplies = {};
  window.fetch = function (address, options) {
    var early = waymark.earlyReplies[address];
    if (early) {
      delete waymark.earlyReplies[address];
      return early;
    }
    if (waymark.leaveToAnother()) return Promise.reject(new TypeError("Another person is signed in."));
    var headers = new Headers((options || {}).headers);
    headers.set("Waymark-Language", document.documentElement.lang); // of this page, whatever was chosen since
    if (waymark.person) headers.set("Waymark-Person", waymark.person); // for whom the page was made
    try {
      headers.set("X-Waymark-Page-Key", localStorage.getItem("waymark.page-key") || "");
    } catch (error) {
      // storage is blocked: only a server without a sign-in answers
    }
    return originalFetch(address, Object.assign({}, options, { headers: headers })).then(function (reply) {
      if (reply.status === 401) waymark.leaveSession();
      if (reply.status === 409 && reply.headers.has("Waymark-Person")) waymark.leaveSession("/"); // of another person
      noteVersion(reply.headers.get("Waymark-Page"));
      return reply;
    });
  };
})();

/* 3. */
(function () {
  "use strict";
  var waymark = window.waymark;
  waymark.fetchEarly = function (address) {
    waymark.earlyReplies[address] = window.fetch(address);
    waymark.earlyReplies[address].catch(function () {}); // Dash reports it
    return waymark.earlyReplies[address];
  };
  waymark.layout = waymark.fetchEarly("/_dash-layout").then(function (reply) {
    var layout = reply.json();
    waymark.person = reply.headers.get("Waymark-Person");
    reply.json = function () {
      return layout; // Dash gets the same objects: new ones would look like new data
    };
    return layout;
  });
  waymark.layout.catch(function () {});
})();

/* 4. */
(function () {
  "use strict";
  var waymark = window.waymark;
  var ready = new Promise(function (resolve) {
    waymark.provide = function (parts) {
      waymark.parts = parts;
      resolve(parts);
    };
  });

  waymark.whenReady = function (use) {
    return waymark.parts ? use(waymark.parts) : ready.then(use);
  };
})();

/* 5. */
window.addEventListener("keydown", function (event) {
  // keyCode 229: Safari ends a composition before the keydown of the Enter that chose the word.
  if (event.isComposing || event.keyCode === 229) event.stopImmediatePropagation();
}, true);

/* 6. */
(function () {
  "use strict";
  var waymark = window.waymark;

  function buildComponent(name) {
    return function (props) {
      var state = React.useState(false);
      // Not in the first render, even if the module is there: Dash shows no change of another component (a toast, for
      // example) that an effect makes before that component listens. A layout effect costs no frame.
      React.useLayoutEffect(function () {
        waymark.whenReady(() => state[1](true));
      }, []);
      return state[0] ? React.createElement(waymark.parts[name], props) : null;
    };
  }

  function buildCallback(name) {
    return (...values) => waymark.whenReady((parts) => parts.clientside[name](...values));
  }

  /** Return an object like `target`, in which each name that fits the pattern is a stand-in. */
  function addStandIns(target, pattern, build) {
    var standIns = {};
    return new Proxy(target, {
      get: (_, name) => {
        if (name in target || typeof name !== "string" || !pattern.test(name)) return target[name];
        return (standIns[name] ??= build(name)); // the same each time: React takes another function for another component
      },
    });
  }

  window.waymark = addStandIns(waymark, /^[A-Z]/, buildComponent);
  var clientside = { waymark: addStandIns({}, /^[a-z]/, buildCallback) };
  window.dash_clientside = Object.assign(window.dash_clientside || {}, clientside);
})();
