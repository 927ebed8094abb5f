/** The thread's event stream: one WebSocket that reconnects by itself. */
import { forgetRun, recordRun } from "./live-run.mjs";
import { readPageKey } from "./page-key.mjs";
import { recordVersion } from "./seen-version.mjs";

const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 5000;
const LOST_AFTER_MS = 1000;
const SESSION_ENDED = 4401;
const THREAD_IS_GONE = 4404;

/** The socket of a start page, open before its first message. It then follows the conversation that it names. */
let prepared = null;

/**
 * Open a socket for the conversation that a first message will begin.
 * @param {(frame: object) => void} onFrame of what happens in other conversations meanwhile
 * @returns {void}
 */
export function prepareSocket(onFrame) {
  if (prepared !== null && prepared.readyState !== WebSocket.CLOSED) return;
  prepared = createSocket("/api/events");
  prepared.onmessage = (event) => onFrame(JSON.parse(event.data));
}

/** @returns {WebSocket|null} the prepared socket; null if it is not open */
function takePrepared() {
  const socket = prepared;
  prepared = null;
  if (socket?.readyState === WebSocket.OPEN) return socket;
  socket?.close();
  return null;
}

function createSocket(path) {
  const key = readPageKey();
  // a socket cannot carry a header
  return new WebSocket(`${location.origin.replace(/^http/, "ws")}${path}`, key ? ["waymark", key] : []);
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

/** @typedef {{onFrame: (frame: object) => void, onGone: () => void, onConnection: (lost: boolean) => void}} Listeners */
class ThreadSocket {
  #thread;
  #query;
  #on;
  #socket = null;
  #attempts = 0;
  #isStopped = false;
  #retryTimer = 0;
  #noticeTimer = 0;

  constructor(thread, on, query) {
    this.#thread = thread;
    this.#query = query;
    this.#on = on;
    window.addEventListener("online", this.#reconnectNow);
    document.addEventListener("visibilitychange", this.#reconnectNow);
  }

  open() {
    clearTimeout(this.#retryTimer);
    if (window.waymark.isLeaving) return;
    this.attach(createSocket(`/api/threads/${encodeURIComponent(this.#thread)}/events${this.#query}`));
  }

  attach(socket) {
    this.#socket = socket;
    this.#socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    this.#socket.onclose = (event) => this.#handleClose(event);
  }

  stop() {
    this.#isStopped = true;
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#noticeTimer);
    window.removeEventListener("online", this.#reconnectNow);
    document.removeEventListener("visibilitychange", this.#reconnectNow);
    this.#socket?.close();
  }

  #receive(frame) {
    if (this.#isStopped) return;
    if (frame.kind === "hello") {
      // Only a first frame proves the connection: a proxy may accept a socket and drop it at once.
      this.#attempts = 0;
      clearTimeout(this.#noticeTimer);
      this.#noticeTimer = 0;
      this.#on.onConnection(false);
      this.#socket.send(frame.receipt); // the server replaces pages that do not read first
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
    forgetRun();
    if (code === SESSION_ENDED) this.#returnToSession();
    else this.#retry();
  }

  /**
   * Go on with another session, for example after a new link in another tab. Without one, the request leaves the page (see
   * early.js).
   */
  async #returnToSession() {
    const reply = window.waymark.isLeaving ? null : await fetch("/api/sessions").catch(() => null);
    if (!this.#isStopped && reply?.status !== 401) this.#retry();
  }

  #retry() {
    this.#noticeTimer ||= setTimeout(() => this.#on.onConnection(true), LOST_AFTER_MS);
    const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#retryTimer = setTimeout(() => this.open(), wait + Math.random() * wait * 0.25);
  }

  /** Reconnect at once, without the timer, when the network or the user is back. */
  #reconnectNow = () => {
    if (!this.#isStopped && document.visibilityState === "visible" && this.#socket?.readyState === WebSocket.CLOSED)
      this.open();
  };
}
