/** The thread's event stream: one WebSocket that comes back by itself. */
const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5000;
const SAY_SO_AFTER_MS = 1000;
const THREAD_IS_GONE = 4404;

let heard = { thread: null, version: 0 };

/** Whether a panel that shows this version has yet to read what the stream has told: the answer is on the screen before its end is. */
export const isOvertaken = (thread, version) => heard.thread === thread && heard.version > version;

/**
 * @param {string} thread
 * @param {{onFrame: (frame: object) => void, onGone: () => void, onConnection: (lost: boolean) => void}} on
 * @returns {() => void} closes the socket for good
 */
export function followThread(thread, on) {
  const address = `${location.origin.replace(/^http/, "ws")}/api/threads/${encodeURIComponent(thread)}/events`;
  let socket = null;
  let attempts = 0;
  let closed = false;
  let retryTimer = 0;
  let noticeTimer = 0;

  function open() {
    clearTimeout(retryTimer);
    socket = new WebSocket(address);
    socket.onmessage = (event) => receive(JSON.parse(event.data));
    socket.onclose = lost;
  }

  function receive(frame) {
    if (closed) return;
    if (frame.k === "hello") {
      // Only a first frame proves the connection: a proxy may accept a socket and drop it at once.
      attempts = 0;
      clearTimeout(noticeTimer);
      noticeTimer = 0;
      on.onConnection(false);
    }
    if (frame.version !== undefined) heard = { thread, version: frame.version };
    on.onFrame(frame);
  }

  function lost(event) {
    if (closed) return;
    if (event.code === THREAD_IS_GONE) {
      stop();
      on.onGone();
      return;
    }
    noticeTimer ||= setTimeout(() => on.onConnection(true), SAY_SO_AFTER_MS);
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempts);
    attempts += 1;
    retryTimer = setTimeout(open, wait + Math.random() * wait * 0.25);
  }

  /** The network is back, or the user is: do not make them wait for the timer. */
  function hurry() {
    if (!closed && document.visibilityState === "visible" && socket?.readyState === WebSocket.CLOSED) open();
  }

  function stop() {
    closed = true;
    clearTimeout(retryTimer);
    clearTimeout(noticeTimer);
    window.removeEventListener("online", hurry);
    document.removeEventListener("visibilitychange", hurry);
    socket?.close();
  }

  window.addEventListener("online", hurry);
  document.addEventListener("visibilitychange", hurry);
  open();
  return stop;
}
