/** Requests with a JSON reply, and what the server says of a refusal. */
import { fetchAsPage } from "./session.mjs";

const SERVER_ERROR = 500;
const PROXY_ERRORS = [502, 504]; // the server itself never answers so
const UNAVAILABLE = 503; // of the server or of a proxy
const REPEATED_AFTER_MS = [250, 500, 1000]; // by then a proxy has found another server

/** Return whether a reply is of a proxy whose server is away. */
function isOfProxy({ status, headers }) {
  if (status !== UNAVAILABLE) return PROXY_ERRORS.includes(status);
  return !/^(text\/plain|application\/json)/.test(headers.get("content-type"));
}

/**
 * Fetch a reply of the server. Where a proxy answers, because its server is away, there is none: this throws, as for a lost
 * connection.
 * @param {string} address
 * @param {object} options of `fetch`
 * @param {boolean} [repeats] send the request again meanwhile: done twice, it has no second effect
 */
export async function fetchReply(address, options, repeats = false) {
  for (const wait of [...(repeats ? REPEATED_AFTER_MS : []), null]) {
    const reply = await fetchAsPage(address, options);
    if (!isOfProxy(reply)) return reply;
    if (wait !== null) await new Promise((resolve) => setTimeout(resolve, wait));
  }
  throw new TypeError("The proxy has no server.");
}

/**
 * Read JSON, or send JSON with a body.
 * @param {string} address
 * @param {{body?: object, repeats?: boolean, signal?: AbortSignal, watch?: (run: () => Promise<Response>) =>
 *   Promise<Response>}} [options] `repeats`: see `fetchReply`; `watch` runs the request, and may tell of a late reply
 * @returns {Promise<{reply: any, status: number|null}>} `reply` is null for a refusal. `status` is null where no reply came:
 *   then the server may have done it or not, and the same request may be sent again
 */
export async function send(address, { body, repeats = body === undefined, signal, watch = (run) => run() } = {}) {
  const headers = { "Content-Type": "application/json" };
  const options = { signal, ...(body !== undefined && { method: "POST", headers, body: JSON.stringify(body) }) };
  /** @type {number|null} */
  let status = null;
  try {
    const reply = await watch(() => fetchReply(address, options, repeats));
    ({ status } = reply);
    return { reply: reply.ok ? await reply.json() : null, status };
  } catch {
    return { reply: null, status };
  }
}

/** Return the server's own sentence about a refusal. An error of the server itself, and a page of a proxy, have none. */
export async function readRefusal(reply, failureText) {
  const isSentence = reply.status !== SERVER_ERROR && (reply.headers.get("content-type") ?? "").startsWith("text/plain");
  return (isSentence && (await reply.text()).trim()) || failureText;
}
