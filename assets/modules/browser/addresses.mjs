/** The addresses of the server: all are built and read here, below the path at which Waymark is (URL_PREFIX). */

const KINDS = ["message", "branch", "checkpoint"];

const ROOT = document.documentElement.dataset.root ?? "/"; // begins and ends with a slash
const THREADS = `${ROOT}t/`;
const API = `${ROOT}api/`;
export const SIGN_IN = `${ROOT}sign-in`;
export const HEALTH = `${ROOT}healthz`;
export const FILE_LINKS = `a[href^="${ROOT}files/"], a[href^="${API}"]`;

/** Return a name for what is stored in the browser. Another Waymark may be below another path of the same host. */
export const nameStored = (name) => (ROOT === "/" ? name : `${name}:${ROOT}`);

/**
 * Return the address of a request.
 * @param {string} path @param {Record<string, string>} [query]
 */
export const buildApi = (path, query) => `${API}${path}${query ? `?${new URLSearchParams(query)}` : ""}`;

/**
 * Return the address of a request about a conversation.
 * @param {string} thread @param {string} path @param {Record<string, string>} [query]
 */
export const buildThreadApi = (thread, path, query) => buildApi(`threads/${encodeThread(thread)}/${path}`, query);

/** @param {string} address of a request */
export const buildSocketAddress = (address) => `${location.origin.replace(/^http/, "ws")}${address}`;

/** @param {string|null} thread null: the start page */
export const buildPath = (thread) => (thread === null ? ROOT : `${THREADS}${encodeThread(thread)}`);

/** Return whether a path is of a page of Waymark. */
export const isOfPage = (pathname) => pathname === ROOT || pathname.startsWith(THREADS);

/** @returns {string|null} the conversation that an address names; it may be gone */
export function readThread(pathname) {
  try {
    return pathname.startsWith(THREADS)
      ? decodeURIComponent(pathname.slice(THREADS.length)).replace(/^(\.{1,2}~*)~$/, "$1")
      : null;
  } catch {
    return null; // the server names such an address no conversation
  }
}

/**
 * @typedef {{message?: string, branch?: string, checkpoint?: string}} Place  by its id
 * @param {string|null} thread @param {Place} [place]
 */
export function buildAddress(thread, place = {}) {
  const query = new URLSearchParams(place).toString();
  return `${location.origin}${buildPath(thread)}${query && `?${query}`}`;
}

/**
 * Read the place that an address names.
 * @param {URL|Location} address
 * @returns {{thread: string, kind: string, id: string}|null}
 */
export function parseAddress({ pathname, search }) {
  const query = new URLSearchParams(search);
  const kind = KINDS.find((each) => query.get(each));
  const thread = readThread(pathname);
  return kind && thread !== null ? { thread, kind, id: String(query.get(kind)) } : null;
}

/** @param {string} thread @returns {string} a segment of an address; “.” and “..” would lead to another one */
const encodeThread = (thread) => encodeURIComponent(thread.replace(/^\.{1,2}~*$/, "$&~"));
