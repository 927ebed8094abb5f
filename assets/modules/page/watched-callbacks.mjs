/** Report a server that does not answer: Dash itself shows nothing after a click. */
import { watchReply } from "../lib/late-reply.mjs";
import { followRequest } from "./long-request.mjs";
import { IMPORT } from "./upload.mjs";

const CALLBACKS = "_dash-update-component";
/** A step of an import, in the body of Dash's request. */
const IMPORTS = /"changedPropIds":\["(?:import-file\.data|import-confirm\.n_clicks|import-merge\.n_clicks)"/;

/** Wrap `fetch` to watch Dash's requests: Dash has no hook for a request that failed. */
export function watchRequests() {
  const originalFetch = window.fetch;
  window.fetch = (address, options) => {
    if (!String(address).includes(CALLBACKS)) return originalFetch(address, options);
    const send = (headers) => originalFetch(address, { ...options, headers: { ...options.headers, ...headers } });
    return watchReply(() => (IMPORTS.test(options.body) ? followRequest(IMPORT, send) : send({})));
  };
}
