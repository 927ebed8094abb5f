/* Runs right below the first HTML, as an inline script: the message field works before the composer's module is there.
 *
 * Text goes where the composer keeps it (assets/modules/lib/unsent-storage.mjs): a draft, or with Enter a queued
 * message with its request id, which the composer sends once.
 */

/* The texts of this conversation that are not sent yet. */
(function () {
  "use strict";
  var thread = location.pathname.indexOf("/t/") === 0 ? location.pathname.slice(3) : "";
  try {
    // as in assets/modules/lib/thread-ids.mjs
    thread = decodeURIComponent(thread).replace(/^(\.{1,2}~*)~$/, "$1");
  } catch (error) {
    // the server names such an address no conversation
  }

  function read(kind) {
    try {
      return JSON.parse(sessionStorage.getItem("waymark-" + kind + ":" + thread));
    } catch (error) {
      return null;
    }
  }

  function store(kind, value) {
    try {
      sessionStorage.setItem("waymark-" + kind + ":" + thread, JSON.stringify(value));
      return true;
    } catch (error) {
      return false; // storage is full or blocked: the text stays in the field
    }
  }

  window.waymark.unsent = { read: read, store: store };
})();

/* The field. */
(function () {
  "use strict";
  var MAX_FIELD_HEIGHT_PX = 240;
  var field = document.querySelector(".composer textarea");
  var button = document.querySelector(".send-button");

  function showText() {
    button.setAttribute("aria-disabled", String(field.value.trim() === ""));
    field.style.height = "auto";
    field.style.height = Math.min(field.scrollHeight, MAX_FIELD_HEIGHT_PX) + "px";
  }

  window.waymark.unsent.setText = function (text) {
    field.value = text;
    showText();
  };
  window.waymark.unsent.setText(window.waymark.unsent.read("draft") || "");
  field.addEventListener("input", function () {
    showText();
    window.waymark.unsent.store("draft", field.value);
  });
})();

/* Enter and the button. */
(function () {
  "use strict";
  var unsent = window.waymark.unsent;
  var field = document.querySelector(".composer textarea");
  var queued = document.querySelector(".composer-queued");

  function createRequestId() {
    var bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.prototype.map.call(bytes, function (byte) { return byte.toString(16).padStart(2, "0"); }).join("");
  }

  function send() {
    var before = unsent.read("queue") || {};
    var text = [before.text, field.value].filter(Boolean).join("\n\n");
    var typed = field.value.trim();
    if (typed === "" || before.files || typed[0] === "/") return; // the composer knows the commands
    var request_id = before.request_id || createRequestId();
    var message = { text: text, request_id: request_id, files: 0, isAfterEnd: before.isAfterEnd };
    if (!unsent.store("queue", message)) return;
    unsent.setText("");
    unsent.store("draft", "");
    queued.hidden = false;
    queued.textContent = text;
  }

  field.addEventListener("keydown", function (event) {
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    send();
  });
  document.querySelector(".send-button").addEventListener("click", send);
  if (matchMedia("(pointer: fine)").matches) field.focus();
})();
