/** Report a server that does not answer: Dash itself shows nothing after a click. */
import { reportLostRequest } from "../lib/request.mjs";
import { toast } from "../lib/toast.mjs";

const PATIENCE_MS = 6000;
const CALLBACKS = "_dash-update-component";

/** Wrap `fetch` to watch Dash's requests: Dash has no hook for a request that failed. */
export function watchRequests() {
  const send = window.fetch;
  window.fetch = async (address, options) => {
    if (!String(address).includes(CALLBACKS)) return send(address, options);
    const timer = setTimeout(() => toast("The server has not answered yet."), PATIENCE_MS);
    try {
      return await send(address, options);
    } catch (error) {
      toast("The server does not answer. Nothing was done; please try again.");
      reportLostRequest();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}
