/** Report a server that does not answer: Dash itself shows nothing after a click. */
import { watchReply } from "../lib/late-reply.mjs";
import { followRequest } from "./long-request.mjs";

const CALLBACKS = "_dash-update-component";
/** A file, or the work on it, in the body of Dash's request. */
const IMPORTS = /"changedPropIds":\["(?:upload\.contents|import-confirm\.n_clicks|import-merge\.n_clicks)"/;
const IMPORT = { title: "Import", dialog: "#import-dialog", cancel: "#import-cancel" };

/** Wrap `fetch` to watch Dash's requests: Dash has no hook for a request that failed. */
export function watchRequests() {
  const originalFetch = window.fetch;
  window.fetch = (address, options) => {
    if (!String(address).includes(CALLBACKS)) return originalFetch(address, options);
    const send = (headers) => originalFetch(address, { ...options, headers: { ...options.headers, ...headers } });
    return watchReply(() => (IMPORTS.test(options.body) ? followRequest(IMPORT, send) : send({})));
  };
}
