/** Open the message, the branch or the checkpoint that the page's address names. */
import { buildThreadApi, parseAddress } from "../lib/addresses.mjs";
import { openPlace } from "../lib/show-place.mjs";

const KIND_PATHS = { message: "messages", branch: "branches", checkpoint: "checkpoints" };

/** Show the place of the page's address, now and whenever the reader goes back or forward to it. */
export function watchPlaceOfAddress() {
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  const isReturn = entry?.type === "back_forward";
  openPlaceOfAddress(isReturn);
  addEventListener("popstate", () => openPlaceOfAddress(true));
}

/** @param {boolean} isReturn to an entry of the browser's history. A reload keeps to the current branch. */
function openPlaceOfAddress(isReturn) {
  const place = takePlace() ?? (isReturn ? history.state?.place : null);
  if (!place) return;
  const { thread, kind, id } = place;
  const { pathname } = location;
  const address = buildThreadApi(thread, `${KIND_PATHS[kind]}/${encodeURIComponent(id)}/place`);
  openPlace(thread, address, kind, { isWanted: () => location.pathname === pathname });
}

/** Move the place out of the page's address, before Dash reads that, into the entry of the browser's history. */
function takePlace() {
  const place = readPlace();
  if (place !== null) history.replaceState({ ...history.state, place }, "", location.pathname);
  return place;
}

function readPlace() {
  try {
    return parseAddress(location);
  } catch {
    return null; // no text: a damaged address
  }
}
