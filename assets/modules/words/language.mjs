/**
 * The language that a person has chosen for this browser. The server reads the cookie, and without one what the browser
 * wants.
 */
const COOKIE = "waymark_language";
const MAX_AGE_SECONDS = 365 * 24 * 3600;

/** @returns {string} the tag of a language; empty: as the system */
export function readLanguageChoice() {
  const found = document.cookie.split("; ").find((pair) => pair.startsWith(`${COOKIE}=`));
  return found ? found.slice(COOKIE.length + 1) : "";
}

/** Keep a choice, and load the page in it. Unsent text stays, as with any reload. @param {string} language */
export function chooseLanguage(language) {
  document.cookie = `${COOKIE}=${language}; path=/; samesite=strict; max-age=${language ? MAX_AGE_SECONDS : 0}`;
  location.reload();
}
