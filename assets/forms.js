/* Sends a form of the pages before the sign-in once, and again where no answer has come for a while: a double click would
 * sign in twice. A classic script, which is there before the form. */
(function () {
  "use strict";
  var REPEATED_AFTER_MS = 4000;
  document.addEventListener("submit", function (event) {
    var form = /** @type {HTMLFormElement} */ (event.target);
    var sentAt = Number(form.dataset.sentAt || -REPEATED_AFTER_MS);
    if (event.timeStamp - sentAt < REPEATED_AFTER_MS) event.preventDefault();
    else form.dataset.sentAt = String(event.timeStamp);
  });
})();
