/** The page's event stream: one socket that reconnects by itself, of a conversation or of the start page. */
import { buildApi, buildThreadApi } from "../browser/addresses.mjs";
import { fetchAsPage, isLeaving } from "../requests/session.mjs";
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

/** @type {StartSocket|null} */
let prepared = null;

/**
 * Open a socket for the conversation that a first message will begin.
 * @param {Pick<Listeners, "onFrame"|"onReturn">} on `onFrame`: of what happens in other conversations
 *   meanwhile; `onReturn`: the socket was lost and is back, so that frames may be missed
 * @returns {void}
 */
export function prepareSocket(on) {
  prepared ??= new StartSocket(on);
}

/** @returns {import("./connection.mjs").Connection|null} the prepared socket; null if it is not open */
function takePrepared() {
  const socket = prepared?.take() ?? null;
  prepared = null;
  return socket;
}

/**
 * @param {string} thread
 * @param {Listeners} on
 * @param {boolean} isExpected whether the thread may begin a moment later
 * @returns {() => void} closes the socket for good
 */
export function followThread(thread, on, isExpected) {
  const following = new ThreadSocket(thread, on, isExpected ? "?expected" : "");
  const socket = takePrepared();
  if (socket && isExpected) {
    socket.send(thread);
    following.attach(socket);
  } else {
    socket?.close();
    following.open();
  }
  return () => following.stop();
}

/** Opens a socket again after it was lost: later each time, and at once when the network or the user is back. */
class Reconnection {
  #open;
  #onWait;
  #attempts = 0;
  #timer = 0;
  #isLost = false;
  #isStopped = false;

  /** @param {() => void} open @param {() => void} [onWait] */
  constructor(open, onWait = () => undefined) {
    this.#open = open;
    this.#onWait = onWait;
    window.addEventListener("online", this.#openIfLost);
    document.addEventListener("visibilitychange", this.#openIfLost);
  }

  /** Note that the connection works: the next loss is a first one. */
  prove() {
    this.#attempts = 0;
  }

  /** Note that the socket was closed. @param {{isRetried?: boolean}} [options] `isRetried`: also while the user is away */
  noteLoss({ isRetried = true } = {}) {
    this.#isLost = true;
    if (!isRetried) return;
    this.#onWait();
    const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#timer = setTimeout(() => this.#openNow(), wait + Math.random() * wait * 0.25);
  }

  /**
   * Go on with another session, for example after a new link in another tab. Without one, the request leaves the page (see
   * session.mjs).
   */
  async returnToSession() {
    this.#isLost = true;
    const reply = isLeaving() ? null : await fetchAsPage(buildApi("sessions")).catch(() => null);
    if (!this.#isStopped && reply?.status !== 401) this.noteLoss();
  }

  stop() {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    window.removeEventListener("online", this.#openIfLost);
    document.removeEventListener("visibilitychange", this.#openIfLost);
  }

  #openNow() {
    clearTimeout(this.#timer);
    if (isLeaving()) return;
    this.#isLost = false;
    this.#open();
  }

  #openIfLost = () => {
    if (this.#isLost && document.visibilityState === "visible") this.#openNow();
  };
}

/** The socket of a start page, open before its first message. It then follows the conversation that it names. */
class StartSocket {
  #on;
  /** @type {import("./connection.mjs").Connection|null} */
  #socket = null;
  #openedAt = Infinity;
  #hasLost = false;
  #reconnection = new Reconnection(() => this.#open());

  constructor(on) {
    this.#on = on;
    if (!isLeaving()) this.#open();
  }

  /** End here. @returns {import("./connection.mjs").Connection|null} the socket, if it is open */
  take() {
    this.#reconnection.stop();
    const socket = this.#socket;
    if (socket === null) return null;
    if (socket.isOpen) return socket;
    socket.close();
    return null;
  }

  #open() {
    this.#openedAt = Infinity;
    const socket = connect(START_PATH);
    this.#socket = socket;
    socket.onopen = () => this.#noteOpen();
    socket.onmessage = (event) => this.#on.onFrame(JSON.parse(event.data));
    socket.onclose = (event) => this.#handleClose(event);
  }

  #noteOpen() {
    this.#openedAt = performance.now();
    if (this.#hasLost) this.#on.onReturn();
    this.#hasLost = false;
  }

  #handleClose({ code }) {
    this.#hasLost = true;
    if (performance.now() - this.#openedAt > PROVEN_AFTER_MS) this.#reconnection.prove();
    if (code === SESSION_ENDED) this.#reconnection.returnToSession();
    else this.#reconnection.noteLoss({ isRetried: code !== REPLACED }); // else two pages would replace each other
  }
}

/**
 * @typedef {{onFrame: (frame: import("./types.mjs").Frame) => void, onGone: () => void,
 *   onConnection: (lost: boolean) => void, onReturn: () => void}} Listeners `onReturn`: frames may be missed, and the frame
 *   that says what is now follows
 */
class ThreadSocket {
  #thread;
  #query;
  #on;
  /** @type {import("./connection.mjs").Connection|null} */
  #socket = null;
  #isStopped = false;
  #hasLost = false;
  #noticeTimer = 0;
  #reconnection = new Reconnection(() => this.open(), () => this.#noticeLoss());

  constructor(thread, on, query) {
    this.#thread = thread;
    this.#query = query;
    this.#on = on;
  }

  open() {
    if (isLeaving()) return;
    this.attach(connect(`${buildThreadApi(this.#thread, "events")}${this.#query}`));
  }

  attach(socket) {
    this.#socket = socket;
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    socket.onclose = (event) => this.#handleClose(event);
  }

  stop() {
    this.#isStopped = true;
    clearTimeout(this.#noticeTimer);
    this.#reconnection.stop();
    this.#socket?.close();
  }

  #receive(frame) {
    if (this.#isStopped) return;
    if (frame.kind === "hello") {
      // Only a first frame proves the connection: a proxy may accept a socket and drop it at once.
      this.#reconnection.prove();
      clearTimeout(this.#noticeTimer);
      this.#noticeTimer = 0;
      this.#on.onConnection(false);
      if (this.#hasLost) this.#on.onReturn();
      this.#hasLost = false;
      this.#socket?.send(frame.receipt); // the server replaces pages that do not read first
    }
    if (frame.version !== undefined) recordVersion(this.#thread, frame);
    recordRun(this.#thread, frame);
    this.#on.onFrame(frame);
  }

  #handleClose({ code }) {
    if (this.#isStopped) return;
    if (code === THREAD_IS_GONE) {
      this.stop();
      this.#on.onGone();
      return;
    }
    this.#hasLost = true;
    forgetRun();
    if (code === SESSION_ENDED) this.#reconnection.returnToSession();
    else this.#reconnection.noteLoss();
  }

  #noticeLoss() {
    this.#noticeTimer ||= setTimeout(() => this.#on.onConnection(true), LOST_AFTER_MS);
  }
}
