/** Addresses of conversations, and of a message, a branch or a checkpoint in one. */
import { copyText } from "./copying.mjs";
import { decodeThread, encodeThread } from "./thread-ids.mjs";
import { showToast } from "./toast.mjs";
import { _ } from "./words.mjs";

const KINDS = ["message", "branch", "checkpoint"];

const THREADS = "/t/";

/** @param {string|null} thread null: the start page */
export const buildPath = (thread) => (thread === null ? "/" : `${THREADS}${encodeThread(thread)}`);

/** @returns {string|null} the conversation that an address names; it may be gone */
export function readThread(pathname) {
  try {
    return pathname.startsWith(THREADS) ? decodeThread(pathname.slice(THREADS.length)) : null;
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
  if (!kind || !pathname.startsWith(THREADS)) return null;
  return { thread: decodeThread(pathname.slice(THREADS.length)), kind, id: String(query.get(kind)) };
}

/** Copy the address of a conversation or of a place in it, and tell so. @param {string} thread @param {Place} [place] */
export async function copyLink(thread, place) {
  const address = buildAddress(thread, place);
  if (await copyText(address)) showToast(_("Link copied"));
  // Nothing on the page shows it.
  else window.prompt(_("Copying was not allowed. Copy the link here:"), address);
}
