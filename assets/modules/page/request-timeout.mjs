/** Report a server that does not answer: Dash itself shows nothing after a click. */
import { reportLostRequest } from "../lib/request.mjs";
import { showToast } from "../lib/toast.mjs";

const NOTICE_AFTER_MS = 6000;
const CALLBACKS = "_dash-update-component";

/** Wrap `fetch` to watch Dash's requests: Dash has no hook for a request that failed. */
export function watchRequests() {
  const originalFetch = window.fetch;
  window.fetch = async (address, options) => {
    if (!String(address).includes(CALLBACKS)) return originalFetch(address, options);
    const timer = setTimeout(() => showToast("The server has not answered yet."), NOTICE_AFTER_MS);
    try {
      return await originalFetch(address, options);
    } catch (error) {
      showToast("The server does not answer. Nothing was done; please try again.");
      reportLostRequest();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}
