/**
 * Connections that bring frames: WebSockets, or requests for the same frames where the network lets no WebSocket through.
 * Both have the same members, so nothing above knows which it has.
 *
 * @typedef {SocketConnection|PolledConnection} Connection
 * @typedef {{onOpen?: () => void, onFrame?: (text: string) => void, onClose: (code: number) => void, onProof?: () => void}}
 *   Listeners  `onProof`: the network lets a WebSocket through
 */
import { buildApi, buildSocketAddress } from "../browser/addresses.mjs";
import { readOption, storeOption } from "../browser/page-options.mjs";
import { showToastWhenFree } from "../controls/toast.mjs";
import { readPageKey, fetchAsPage, isLeaving } from "../requests/session.mjs";
import { _ } from "../words/words.mjs";
import { createRequestId } from "./actions.mjs";

const PROOF_MS = 3000; // from the beginning to the first frame, until requests bring the frames
const SLOW_PROOF_MS = 20_000; // the same, beside requests and on a network that is known to be slow
const SILENCE_MS = 40_000; // between the frames of the server, which come every 15 s at least
const MAX_FAILURES = 2; // of WebSockets in a row, until requests are tried
const BUSY_MS = 300;
const QUIET_MS = 700;
const MAX_REQUEST_MS = 10_000;
const TRY_SOCKET_MS = 60_000;
export const START_PATH = buildApi("events"); // of a page without a conversation
const CLOSED_BY_NETWORK = 1006;
const CLOSED_BY_SERVER = [1001, 1012, 1013]; // and the codes of its own, from 4000 on
const BLOCKED = "polling"; // an option of the page
// As the server writes it: no other frame is read here.
const BEAT = '{"kind": "beat"}';

let hasRequests = readOption(BLOCKED); // which have brought frames here, and no WebSocket since
let failures = hasRequests ? MAX_FAILURES : 0;
let proofMs = PROOF_MS;

/** Keep whether the network blocks WebSockets, for the next page as well, and say it once. */
function noteBlocked(isBlocked) {
  if (isBlocked === readOption(BLOCKED)) return;
  storeOption(BLOCKED, isBlocked);
  if (isBlocked) showToastWhenFree(_("Live updates are slow here, because this network blocks WebSockets."));
}

const isOfNetwork = (code) => code < 4000 && !CLOSED_BY_SERVER.includes(code);

/** @param {string} path of frames @param {Listeners} on @returns {Connection} */
export const connect = (path, on) =>
  failures < MAX_FAILURES ? new SocketConnection(path, proofMs, on) : new PolledConnection(path, on);

/** A WebSocket that is given up if it brings nothing in time. */
class SocketConnection {
  isOpen = false;
  /** @type {Listeners} */ #on;
  #socket;
  #isProven = false;
  #hasBeats; // a start page has none until it names a conversation
  #timer = 0;

  constructor(path, ms, on) {
    this.#on = on;
    this.#hasBeats = path !== START_PATH;
    const key = readPageKey();
    // a socket cannot carry a header
    this.#socket = new WebSocket(buildSocketAddress(path), key ? ["waymark", key] : []);
    this.#socket.onopen = () => this.#handleOpen();
    this.#socket.onmessage = ({ data }) => this.#receive(data);
    this.#socket.onclose = ({ code }) => this.#end(code);
    this.#expect(ms);
  }

  send(text) {
    if (!this.#hasBeats) this.#expect(this.#isProven ? SILENCE_MS : PROOF_MS);
    this.#hasBeats = true;
    this.#socket.send(text);
  }

  close() {
    clearTimeout(this.#timer);
    this.isOpen = false;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
  }

  #expect(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      failures = MAX_FAILURES;
      proofMs = PROOF_MS;
      this.#end(CLOSED_BY_NETWORK);
    }, ms);
  }

  #handleOpen() {
    this.isOpen = true;
    if (!this.#hasBeats) {
      clearTimeout(this.#timer); // nothing comes until the page names a conversation
      this.#noteProof();
    }
    this.#on.onOpen?.();
  }

  /** Note that a WebSocket gets through. */
  #noteProof() {
    failures = 0;
    hasRequests = false;
    this.#on.onProof?.();
  }

  #receive(text) {
    if (this.#hasBeats) this.#expect(SILENCE_MS);
    if (!this.#isProven) {
      this.#isProven = true;
      noteBlocked(false);
      this.#noteProof();
    }
    if (text !== BEAT) this.#on.onFrame?.(text);
  }

  #end(code) {
    if (!this.#isProven && isOfNetwork(code)) failures += 1;
    this.close();
    this.#on.onClose(code);
  }
}

/** Requests that bring the frames, until a WebSocket gets through. Closed by itself, it is opened again as one. */
class PolledConnection {
  isOpen = false;
  #path;
  #address;
  /** @type {Listeners} */ #on;
  /** @type {number|null} the number of frames; null before the first reply */
  #seen = null;
  #texts = []; // to be sent
  #isAsking = false;
  #timer = 0;
  /** @type {SocketConnection|null} to get a WebSocket through */
  #attempt = null;
  #attempts = setInterval(() => this.#trySocket(), TRY_SOCKET_MS);
  #closing = new AbortController();

  constructor(path, on) {
    this.#path = path;
    this.#on = on;
    this.#address = `${path}${path.includes("?") ? "&" : "?"}poll=${createRequestId()}`;
    const { signal } = this.#closing;
    window.addEventListener("online", this.#hurry, { signal });
    document.addEventListener("visibilitychange", this.#hurry, { signal });
    this.#ask();
  }

  send(text) {
    this.#texts.push(text);
    this.#ask();
  }

  close() {
    this.#closing.abort();
    this.isOpen = false;
    clearTimeout(this.#timer);
    clearInterval(this.#attempts);
    this.#attempt?.close();
  }

  get #isClosed() {
    return this.#closing.signal.aborted;
  }

  async #ask() {
    if (this.#isAsking || this.#isClosed || isLeaving()) return;
    this.#isAsking = true;
    clearTimeout(this.#timer);
    let wait = QUIET_MS;
    try {
      const seen = this.#seen === null ? "" : `&seen=${this.#seen}`;
      const reply = await post(this.#address + seen, this.#texts.shift());
      if (this.#isClosed) return;
      if (reply?.frames.length) wait = BUSY_MS;
      if (reply === null) this.#end(CLOSED_BY_NETWORK);
      else this.#receive(reply);
    } finally {
      // a frame that fails ends no more than a socket would
      this.#isAsking = false;
      if (!this.#isClosed) this.#timer = setTimeout(() => this.#ask(), this.#texts.length ? 0 : wait);
    }
  }

  #receive({ frames, code }) {
    if (this.#seen === null) this.#handleOpen();
    for (const data of frames) {
      if (this.#isClosed) return;
      this.#seen = Number(this.#seen) + 1;
      if (data !== BEAT) this.#on.onFrame?.(data);
    }
    if (code !== null && !this.#isClosed) this.#end(code);
  }

  #handleOpen() {
    this.#seen = 0;
    this.isOpen = hasRequests = true;
    this.#on.onOpen?.();
    this.#trySocket();
  }

  /** Try whether the network lets a WebSocket through. The first time tells it from a server that was away. */
  #trySocket() {
    if (this.#attempt || !this.isOpen) return;
    const begun = performance.now();
    const onProof = () => {
      if (performance.now() - begun > PROOF_MS) proofMs = SLOW_PROOF_MS;
      this.#end(CLOSED_BY_NETWORK);
    };
    const onClose = (code) => {
      this.#attempt = null;
      if (isOfNetwork(code)) noteBlocked(true);
    };
    this.#attempt = new SocketConnection(this.#path, SLOW_PROOF_MS, { onProof, onClose });
  }

  #hurry = () => {
    if (document.visibilityState !== "visible") return;
    this.#ask();
    this.#trySocket();
  };

  #end(code) {
    // The server may be away, and not the WebSockets blocked: one is next, unless it would let the next frames wait.
    if (!this.isOpen && !hasRequests) failures = MAX_FAILURES - 1;
    this.close();
    this.#on.onClose(code);
  }
}

/** @returns {Promise<{frames: string[], code: number|null}|null>} null without a reply of the server */
async function post(address, body = "") {
  try {
    const reply = await fetchAsPage(address, { method: "POST", body, signal: AbortSignal.timeout(MAX_REQUEST_MS) });
    return reply.ok ? await reply.json() : null;
  } catch {
    return null;
  }
}
