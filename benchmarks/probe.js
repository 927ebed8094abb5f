/* Put into the page before its own scripts: takes the times at which things were really painted. */
(function () {
  "use strict";
  const LONGEST_MS = 30_000;
  const keys = [];
  let entered = 0;

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
      const look = () => {
        if (!test()) return;
        observer.disconnect();
        painted(resolve);
      };
      const observer = new MutationObserver(look);
      observer.observe(document, { subtree: true, childList: true, characterData: true });
      look();
    });
  }

  const last = (selector) => Array.from(document.querySelectorAll(selector)).at(-1);
  const answer = () => last('[data-testid="message"][data-role="assistant"]')?.textContent ?? "";
  const composer = () => document.querySelector('textarea[data-testid="composer"]:enabled');

  addEventListener("keydown", (event) => {
    if (event.key === "Enter") entered = event.timeStamp;
    else painted((time) => keys.push(time - event.timeStamp));
  }, true);

  window.probe = {
    keys,
    entered: () => entered,
    /** Milliseconds since 1970, on the clock that other processes of the machine have too. */
    epoch: (time) => performance.timeOrigin + time,
    clockError: () => performance.timeOrigin + performance.now() - Date.now(),
    answerHas: (text) => when(() => answer().includes(text)),
    /** The first word, and the last, of an answer to come. */
    expect(first, end) {
      window.probe.first = window.probe.answerHas(first);
      window.probe.whole = window.probe.answerHas(end);
    },
    usable: when(() => composer() && last('article[data-testid="message"]')?.textContent.includes("The end of this conversation.")),
    transferred: () =>
      [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].map((entry) => entry.transferSize),
  };
})();
