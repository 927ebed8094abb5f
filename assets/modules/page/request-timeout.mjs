/** Says so when the server does not answer: Dash itself would leave a click without any sign. */
import { reportLostRequest } from "../lib/request.mjs";
import { toast } from "../lib/toast.mjs";

const PATIENCE_MS = 6000;
const CALLBACKS = "_dash-update-component";

/** Dash has no place to hear of a request that failed, so its requests are watched on their way. */
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
