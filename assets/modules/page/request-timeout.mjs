/** Report a server that does not answer: Dash itself shows nothing after a click. */
import { reportLostRequest } from "../lib/request.mjs";
import { showToast } from "../lib/toast.mjs";
import { followRequest } from "./long-request.mjs";
import { IMPORT } from "./upload.mjs";

const NOTICE_AFTER_MS = 6000;
const CALLBACKS = "_dash-update-component";
/** A step of an import, in the body of Dash's request. */
const IMPORTS = /"changedPropIds":\["(?:import-file\.data|import-confirm\.n_clicks|import-merge\.n_clicks)"/;

const isProgressShown = () => document.querySelector(".progress-box") !== null;

/** A text that is too long is kept, like one whose request was lost: Dash shows nothing of a refusal. */
function reportTooLong() {
  showToast("This is too long to be sent. Nothing was done.");
  reportLostRequest();
}

/** Wrap `fetch` to watch Dash's requests: Dash has no hook for a request that failed. */
export function watchRequests() {
  const originalFetch = window.fetch;
  window.fetch = async (address, options) => {
    if (!String(address).includes(CALLBACKS)) return originalFetch(address, options);
    const send = (headers) => originalFetch(address, { ...options, headers: { ...options.headers, ...headers } });
    const timer = setTimeout(() => isProgressShown() || showToast("The server has not answered yet."), NOTICE_AFTER_MS);
    try {
      const reply = await (IMPORTS.test(options.body) ? followRequest(IMPORT, send) : send({}));
      if (reply.status === 413) reportTooLong();
      return reply;
    } catch (error) {
      showToast("The server does not answer. Nothing was done; please try again.");
      reportLostRequest();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}
