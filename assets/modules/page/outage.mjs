/** The banner during an outage. It polls the server and disappears after the recovery. */
import { HEALTH } from "../browser/addresses.mjs";
import { setProperties } from "../browser/properties.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { reportLostRequest } from "../requests/tracked-request.mjs";
import { sendOnce } from "../state/actions.mjs";
import { _ } from "../words/words.mjs";

const POLL_MS = 2000;
/** @type {ReturnType<typeof setTimeout>|null} while the banner is shown */
let poll = null;

/** @returns {Promise<{status: string, store: string}|null>} null when the server itself does not answer */
async function fetchHealth() {
  try {
    return await (await fetchAsPage(HEALTH)).json();
  } catch {
    return null;
  }
}

/** @returns {boolean} whether the banner is shown */
export const isOutageShown = () => poll !== null;

/** Show the banner, until the server says that it has recovered. @param {string} text a sentence */
export const showOutage = (text) => setProperties({ trouble: { data: { text } } });

/** After a lost connection, show the banner if the server does not answer at all. */
export async function showOutageIfUnreachable() {
  if ((await fetchHealth()) === null) showOutage(_("The server does not answer."));
}

/**
 * Clientside callback: show the outage that an answer has told of. The server is polled until it has recovered, and its
 * newest problem is shown.
 * @param {{text: string}|undefined} data
 */
export function followOutage(data) {
  if (data) {
    showBanner(data.text);
    reportLostRequest();
    if (poll === null) poll = setTimeout(readHealth, POLL_MS);
  }
  return window.dash_clientside.no_update;
}

async function readHealth() {
  const health = await fetchHealth();
  if (health?.status === "ok") {
    poll = null;
    showBanner("");
    sendOnce("trouble", { type: "recovered" });
    return;
  }
  if (health?.status === "degraded") showBanner(health.store);
  poll = setTimeout(readHealth, POLL_MS);
}

/** @param {string} text a sentence; empty where there is no outage */
const showBanner = (text) =>
  setProperties({
    outage: { hidden: text === "" },
    "outage-text": { children: text && _("{text} Your text is kept.", { text }) },
  });
