/** The page's event stream: one socket that reconnects by itself, of a conversation or of the start page. */
import { buildApi, buildThreadApi } from "../browser/addresses.mjs";
import { fetchAsPage, isLeaving, UNAUTHORIZED } from "../requests/session.mjs";
import { connect, START_PATH } from "./connection.mjs";
import { forgetRun, recordRun } from "./live-run.mjs";
import { recordVersion } from "./seen-version.mjs";

const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 5000;
const LOST_AFTER_MS = 1000;
const PROVEN_AFTER_MS = 5000;
const REPLACED = 1013;
const SESSION_ENDED = 4401;
const THREAD_IS_GONE = 4404;

/**
 * @typedef {{onFrame: (frame: import("./types.mjs").Frame) => void, onReturn: () => void}} StartListeners  `onFrame`: of
 *   what happens in other conversations; `onReturn`: the socket was lost and is back, so that frames may be missed
 * @typedef {StartListeners & {onGone: () => void, onConnection: (isLost: boolean) => void}} Listeners  of a conversation:
 *   after `onReturn` comes the frame that says what is now
 */

/** Of the start page. @type {EventSocket|null} */
let prepared = null;

/** Open a socket for the conversation that a first message will begin. @param {StartListeners} on */
export function prepareSocket(on) {
  if (prepared !== null) return;
  prepared = new EventSocket(on);
  prepared.open();
}

/**
 * @param {string} thread
 * @param {Listeners} on
 * @param {boolean} isExpected whether the thread may begin a moment later
 * @returns {() => void} closes the socket for good
 */
export function followThread(thread, on, isExpected) {
  const socket = prepared ?? new EventSocket(on);
  prepared = null;
  socket.follow(thread, on, isExpected);
  return () => socket.stop();
}

/** It opens again after it was lost: later each time, and at once when the network or the user is back. */
class EventSocket {
  /** @type {StartListeners & Partial<Listeners>} */
  #on;
  /** @type {string|null} */
  #thread = null;
  #path = START_PATH;
  /** @type {import("./connection.mjs").Connection|null} null while it is lost */
  #connection = null;
  #openedAt = Infinity;
  #attempts = 0;
  #timer = 0;
  #noticeTimer = 0;
  #isMissing = false; // frames, since it was lost
  #stopping = new AbortController();

  constructor(on) {
    this.#on = on;
    const { signal } = this.#stopping;
    window.addEventListener("online", this.#openIfLost, { signal });
    document.addEventListener("visibilitychange", this.#openIfLost, { signal });
  }

  open() {
    clearTimeout(this.#timer);
    if (this.#connection !== null || isLeaving()) return;
    this.#openedAt = Infinity;
    this.#connection = connect(this.#path, {
      onOpen: () => this.#noteOpen(),
      onFrame: (text) => this.#receive(JSON.parse(text)),
      onClose: (code) => this.#handleClose(code),
    });
  }

  /** Follow a conversation. The socket of the start page follows the one that it names. */
  follow(thread, on, isExpected) {
    this.#thread = thread;
    this.#path = `${buildThreadApi(thread, "events")}${isExpected ? "?expected" : ""}`;
    this.#on = on;
    if (isExpected && this.#connection?.isOpen) return this.#connection.send(thread);
    this.#connection?.close();
    this.#connection = null;
    this.open();
  }

  stop() {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#noticeTimer);
    this.#connection?.close();
  }

  #noteOpen() {
    this.#openedAt = performance.now();
    if (this.#thread === null) this.#noteReturn();
  }

  #noteReturn() {
    if (this.#isMissing) this.#on.onReturn();
    this.#isMissing = false;
  }

  #receive(frame) {
    if (frame.kind === "hello") {
      // Only a first frame proves the connection: a proxy may accept a socket and drop it at once.
      this.#attempts = 0;
      clearTimeout(this.#noticeTimer);
      this.#noticeTimer = 0;
      this.#on.onConnection?.(false);
      this.#noteReturn();
      this.#connection?.send(frame.receipt); // the server replaces pages that do not read first
    }
    if (frame.version !== undefined) recordVersion(String(this.#thread), frame);
    recordRun(this.#thread, frame);
    this.#on.onFrame(frame);
  }

  #handleClose(code) {
    this.#connection = null;
    if (code === THREAD_IS_GONE) {
      this.stop();
      this.#on.onGone?.();
      return;
    }
    this.#isMissing = true;
    forgetRun();
    if (performance.now() - this.#openedAt > PROVEN_AFTER_MS) this.#attempts = 0;
    if (code === SESSION_ENDED) this.#returnToSession();
    // Else two start pages would replace each other.
    else if (code !== REPLACED || this.#thread !== null) this.#openLater();
  }

  /**
   * Go on with another session, for example after a new link in another tab. Without one, the request leaves the page (see
   * session.mjs).
   */
  async #returnToSession() {
    const reply = isLeaving() ? null : await fetchAsPage(buildApi("sessions")).catch(() => null);
    if (!this.#stopping.signal.aborted && reply?.status !== UNAUTHORIZED) this.#openLater();
  }

  #openLater() {
    const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#timer = setTimeout(() => this.open(), wait + Math.random() * wait * 0.25);
    this.#noticeTimer ||= setTimeout(() => this.#on.onConnection?.(true), LOST_AFTER_MS);
  }

  #openIfLost = () => {
    if (this.#connection === null && document.visibilityState === "visible") this.open();
  };
}
