/* Put into the page before its own scripts: takes the times at which things were really painted. */
(function () {
  "use strict";
  const LONGEST_MS = 120_000;
  const places = window.probePlaces;
  const keys = [];
  let entered = 0;
  let clicked = 0;

  // A task posted while a frame is being made runs right after that frame; anything else must first wait for the next one.
  const afterFrame = [];
  const channel = new MessageChannel();
  channel.port1.onmessage = () => afterFrame.splice(0).forEach((callback) => callback());
  let inFrame = false;
  const request = window.requestAnimationFrame.bind(window);
  const post = (callback) => {
    afterFrame.push(callback);
    channel.port2.postMessage(null);
  };
  window.requestAnimationFrame = (callback) =>
    request((time) => {
      if (!inFrame) post(() => (inFrame = false));
      inFrame = true;
      callback(time);
    });

  /** Calls back with performance.now() once what stands in the document now has been painted. */
  function painted(callback) {
    const done = () => post(() => callback(performance.now()));
    if (inFrame) done();
    else request(done);
  }

  /** @returns {Promise<number>} when the first frame was painted in which `test` held; fails after LONGEST_MS */
  function when(test) {
    return new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`not painted within ${LONGEST_MS} ms: ${test}`)), LONGEST_MS);
      let isWaiting = false;
      const look = () => {
        isWaiting = false;
        if (!test()) return;
        observer.disconnect();
        post(() => resolve(performance.now()));
      };
      // Once for each frame: looking after every token would cost more than some pages do.
      const lookInFrame = () => {
        if (inFrame) return look();
        if (!isWaiting) request(look);
        isWaiting = true;
      };
      const observer = new MutationObserver(lookInFrame);
      observer.observe(document, { subtree: true, childList: true, characterData: true, attributeFilter: ["disabled"] });
      lookInFrame();
    });
  }

  const last = (selector) => Array.from(document.querySelectorAll(selector)).at(-1);
  const textOf = (selector) => last(selector)?.textContent ?? "";

  addEventListener("keydown", (event) => {
    if (event.key === "Enter") entered = event.timeStamp;
    else painted((time) => keys.push(time - event.timeStamp));
  }, true);
  addEventListener("click", (event) => (clicked = event.timeStamp), true);

  window.probe = {
    keys,
    entered: () => entered,
    clicked: () => clicked,
    answerHas: (text) => when(() => textOf(places.answer).includes(text)),
    /** The first word, and the last, of an answer to come. */
    expect(first, end) {
      window.probe.first = window.probe.answerHas(first);
      window.probe.whole = window.probe.answerHas(end);
    },
    /** The last message of a conversation to come. */
    expectEnd(text) {
      window.probe.end = when(() => textOf(places.message).includes(text));
    },
    /** A message that holds this text. */
    expectShown(text) {
      window.probe.shown = when(() => [...document.querySelectorAll(places.message)].some((each) => each.textContent.includes(text)));
    },
    /** Presses Enter in the field at this moment, in milliseconds since 1970. */
    pressEnterAt(moment) {
      setTimeout(() => {
        const key = { key: "Enter", code: "Enter", keyCode: 13, which: 13, bubbles: true, cancelable: true };
        for (const type of ["keydown", "keypress", "keyup"])
          document.activeElement.dispatchEvent(new KeyboardEvent(type, key));
      }, moment - Date.now());
    },
    usable: when(() => document.querySelector(places.composer)),
    transferred: () =>
      [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].map((entry) => entry.transferSize),
  };
  if (places.end) window.probe.expectEnd(places.end);
})();
