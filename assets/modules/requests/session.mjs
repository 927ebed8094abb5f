/**
 * The session of the page: what its requests carry, what their answers tell, and the way out. The page is left when its
 * session has ended, or another person has signed in in another tab; nothing unsent stays in the browser.
 */
import { SIGN_IN, buildPath, isOfPage, nameStored } from "../browser/addresses.mjs";
import { keep, readKept } from "../browser/storage.mjs";

const KEY = nameStored("waymark.page-key");

/** @returns {string|null} null without a sign-in */
export const readPageKey = () => readKept(KEY);

/** Forget the key and its person after signing out. */
export function removePageKey() {
  keep(KEY, null);
  keep(PERSON, null);
}

export const NEW_PAGE_EVENT = "waymark-new-page";
const PERSON = nameStored("waymark.person"); // sign-in.js keeps it
export const UNAUTHORIZED = 401;
const CONFLICT = 409;

/** @returns {string|null} who has signed in in this browser last */
const readPerson = () => readKept(PERSON);

let isPageLeft = false;
const ownPerson = readPerson();

/** @returns {boolean} whether the page is being left: no socket is opened any more */
export const isLeaving = () => isPageLeft;

/** @param {boolean} isLeft */
export const setLeaving = (isLeft) => void (isPageLeft = isLeft);

function forgetTexts() {
  try {
    sessionStorage.clear(); // unsent messages
  } catch {
    // Storage is blocked: nothing is there.
  }
}

/** Leave the page. @param {string} [address] */
export function leaveSession(address = SIGN_IN) {
  // Outside of the path that the server knows, the answers are another program's: see the first sentence of index.html.
  if (!isOfPage(location.pathname)) return;
  setLeaving(true);
  forgetTexts();
  addEventListener("pagehide", forgetTexts); // requests that end meanwhile put their texts back
  location.replace(address);
}

/** Leave the page if it is of a person who is not signed in any more. @returns {boolean} whether it is */
function leaveToAnother() {
  const person = readPerson();
  const isOfAnother = ownPerson !== null && person !== ownPerson;
  if (isOfAnother && !isPageLeft) leaveSession(person ? buildPath(null) : undefined);
  return isOfAnother;
}

/** Watch other tabs, and the page when it comes back as it was left. */
export function watchPerson() {
  addEventListener("storage", leaveToAnother);
  addEventListener("pageshow", leaveToAnother);
}

/**
 * Return what each request carries: the key, since the cookie alone, which browsers send to every port of this host, opens
 * nothing; the language of this page, whatever was chosen since; and the person whom the page was made for.
 * @returns {Record<string, string>}
 */
export function buildHeaders() {
  const person = document.querySelector("[data-person]")?.dataset.person;
  return {
    "X-Waymark-Page-Key": readPageKey() ?? "",
    "Waymark-Language": document.documentElement.lang,
    ...(person && { "Waymark-Person": person }),
  };
}

/**
 * Run a request of this page, and learn from its reply whether the session has ended, and whether the server has another
 * version of the page.
 * @param {() => Promise<Response>} send
 */
export async function fetchInSession(send) {
  if (leaveToAnother()) throw new TypeError("Another person is signed in.");
  const reply = await send();
  const { status, headers } = reply;
  if (status === UNAUTHORIZED && !isPageLeft) leaveSession(); // a page that is left already goes to a place of its own
  if (status === CONFLICT && headers.has("Waymark-Person")) leaveSession(buildPath(null)); // of another person
  const version = headers.get("Waymark-Page");
  const ownFiles = /** @type {HTMLLinkElement} */ (document.querySelector("link[rel=icon]")).href;
  if (version && !ownFiles.includes(`/${version}/`)) document.dispatchEvent(new Event(NEW_PAGE_EVENT));
  return reply;
}

/**
 * Fetch from the server, as this page.
 * @param {string} address
 * @param {RequestInit} [options]
 */
export const fetchAsPage = (address, options = {}) =>
  fetchInSession(() => fetch(address, { ...options, headers: { ...options.headers, ...buildHeaders() } }));
