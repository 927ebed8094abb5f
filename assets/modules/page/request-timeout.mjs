/** Report a server that does not answer: Dash itself shows nothing after a click. */
import { reportLostRequest } from "../lib/request.mjs";
import { showToast } from "../lib/toast.mjs";
import { followRequest } from "./long-request.mjs";

const NOTICE_AFTER_MS = 6000;
const CALLBACKS = "_dash-update-component";
/** A file, or the work on it, in the body of Dash's request. */
const IMPORTS = /"changedPropIds":\["(?:upload\.contents|import-confirm\.n_clicks|import-merge\.n_clicks)"/;
const IMPORT = { title: "Import", dialog: "#import-dialog", cancel: "#import-cancel" };

const isProgressShown = () => document.querySelector(".progress-box") !== null;

/** Wrap `fetch` to watch Dash's requests: Dash has no hook for a request that failed. */
export function watchRequests() {
  const originalFetch = window.fetch;
  window.fetch = async (address, options) => {
    if (!String(address).includes(CALLBACKS)) return originalFetch(address, options);
    const send = (headers) => originalFetch(address, { ...options, headers: { ...options.headers, ...headers } });
    const timer = setTimeout(() => isProgressShown() || showToast("The server has not answered yet."), NOTICE_AFTER_MS);
    try {
      return await (IMPORTS.test(options.body) ? followRequest(IMPORT, send) : send({}));
    } catch (error) {
      showToast("The server does not answer. Nothing was done; please try again.");
      reportLostRequest();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}
