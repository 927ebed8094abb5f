/** The thread's event stream: one WebSocket that reconnects by itself. */
import { forgetRun, recordRun } from "./live-run.mjs";
import { readPageKey } from "./page-key.mjs";

const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 5000;
const LOST_AFTER_MS = 1000;
const SESSION_ENDED = 4401;
const THREAD_IS_GONE = 4404;

/**
 * The newest version that the stream reported, and the changes that only the data shows, each with the version before it.
 */
let newest = { thread: null, version: 0, unseen: [] };

const findUnseen = (thread, version) =>
  newest.thread === thread ? newest.unseen.find((each) => each.version > version) : undefined;

/** Return whether the stream has reported a change since this version that only newer data will show. */
export const isChangeUnseen = (thread, version) => findUnseen(thread, version) !== undefined;

/** Return the version that the user sees: the data's, or a newer one up to which the stream has shown every change. */
export function findSeenVersion(thread, version) {
  if (newest.thread !== thread) return version;
  return Math.max(version, findUnseen(thread, version)?.before ?? newest.version);
}

const isShown = ({ kind, message }) =>
  kind === "end" || kind === "answer" || ((kind === "start" || kind === "message") && Boolean(message));

function recordVersion(thread, frame) {
  if (newest.thread !== thread) newest = { thread, version: 0, unseen: [] };
  if (!isShown(frame)) newest.unseen.push({ version: frame.version, before: newest.version });
  newest.version = frame.version;
}

/** The socket of a start page, open before its first message. It then follows the conversation that it names. */
let prepared = null;

/** Open a socket for the conversation that a first message will begin. @returns {void} */
export function prepareSocket() {
  if (prepared === null || prepared.readyState === WebSocket.CLOSED) prepared = createSocket("/api/events");
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
  #isClosed = false;
  #retryTimer = 0;
  #noticeTimer = 0;

  constructor(thread, on, query) {
    this.#thread = thread;
    this.#query = query;
    this.#on = on;
    window.addEventListener("online", this.#hurry);
    document.addEventListener("visibilitychange", this.#hurry);
  }

  open() {
    clearTimeout(this.#retryTimer);
    if (window.waymark.isLeaving) return;
    this.attach(createSocket(`/api/threads/${encodeURIComponent(this.#thread)}/events${this.#query}`));
  }

  attach(socket) {
    this.#socket = socket;
    this.#socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
    this.#socket.onclose = (event) => this.#lose(event);
  }

  stop() {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#noticeTimer);
    window.removeEventListener("online", this.#hurry);
    document.removeEventListener("visibilitychange", this.#hurry);
    this.#socket?.close();
  }

  #receive(frame) {
    if (this.#isClosed) return;
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

  #lose({ code }) {
    if (this.#isClosed) return;
    if (code === THREAD_IS_GONE) {
      this.stop();
      this.#on.onGone();
      return;
    }
    forgetRun();
    if (code === SESSION_ENDED) return void this.#returnToSession();
    this.#retry();
  }

  /**
   * Go on with another session, for example after a new link in another tab. Without one, the request leaves the page (see
   * early.js).
   */
  async #returnToSession() {
    const reply = window.waymark.isLeaving ? null : await fetch("/api/sessions").catch(() => null);
    if (!this.#isClosed && reply?.status !== 401) this.#retry();
  }

  #retry() {
    this.#noticeTimer ||= setTimeout(() => this.#on.onConnection(true), LOST_AFTER_MS);
    const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#retryTimer = setTimeout(() => this.open(), wait + Math.random() * wait * 0.25);
  }

  /** Reconnect at once, without the timer, when the network or the user is back. */
  #hurry = () => {
    if (!this.#isClosed && document.visibilityState === "visible" && this.#socket?.readyState === WebSocket.CLOSED)
      this.open();
  };
}
