/** Watch Dash's requests: for one that fails, or is answered by another version of the page, Dash has no hook. */
import { watchReply } from "../lib/late-reply.mjs";
import { buildHeaders, fetchInSession } from "../lib/session.mjs";
import { _ } from "../lib/words.mjs";
import { findProblemLine, sendFromDialog } from "./dialog-problems.mjs";
import { followRequest } from "./long-request.mjs";
import { IMPORT } from "./upload.mjs";

const DASH = "_dash-";
const CALLBACKS = "_dash-update-component";
const makeEmptyReply = () => new Response(null, { status: 204 });
const ERASURE = { title: _("Erasure"), dialog: "#person-erasure", cancel: "#person-erasure-cancel" };
/** @type {[RegExp, import("./long-request.mjs").Subject][]} long requests, by what triggers them in the body of Dash's */
const LONG = [
  [/"changedPropIds":\["(?:import-file\.data|import-confirm\.n_clicks|import-merge\.n_clicks)"/, IMPORT],
  [/"changedPropIds":\["person-erasure-erase\.n_clicks"/, ERASURE],
];

/**
 * Dash's hooks before its requests (components/page.py): give them the headers of the page. Dash merges those of its store
 * into each request.
 */
export function authorizeDash() {
  Object.assign(window.dash_stores[0].getState().config.fetch.headers, buildHeaders());
}

export function watchRequests() {
  const originalFetch = window.fetch;
  window.fetch = (address, options) => {
    if (!String(address).includes(DASH)) return originalFetch(address, options);
    const send = (headers) =>
      fetchInSession(() => originalFetch(address, { ...options, headers: { ...options?.headers, ...headers } }));
    if (!String(address).includes(CALLBACKS)) return send({});
    const [line, body] = [findProblemLine(), String(options?.body)];
    const [, subject] = LONG.find(([trigger]) => trigger.test(body)) ?? [];
    const sendLong = () => (subject ? followRequest(subject, send) : send({}));
    // The dialog says that a reply is lost. Dash undoes `running` only with a reply.
    if (line !== undefined)
      return watchReply(() => sendFromDialog(line, body, sendLong), { isShown: () => true }).catch(makeEmptyReply);
    return watchReply(sendLong);
  };
}
