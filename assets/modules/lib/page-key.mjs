/** The page's key, which opens the door together with the cookie. sign-in.js keeps it; session.mjs adds it to requests. */
import { nameStored } from "./addresses.mjs";
const KEY = nameStored("waymark.page-key");

/** @returns {string|null} null without a sign-in */
export function readPageKey() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is blocked
  }
}

/** Forget the key and its person after signing out. */
export function removePageKey() {
  localStorage.removeItem(KEY);
  localStorage.removeItem(nameStored("waymark.person"));
}
