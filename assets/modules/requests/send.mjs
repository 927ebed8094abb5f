/** One request with a JSON reply, for all dialogs: its outcome is the reply, or a problem that a person can read. */
import { fetchAsPage } from "./session.mjs";
const SERVER_ERROR = 500;
const PROXY_ERRORS = [502, 504]; // the server itself never answers so
const UNAVAILABLE = 503; // of the server or of a proxy
const REPEATED_AFTER_MS = [250, 500, 1000]; // by then a proxy has found another server

/**
 * @typedef {{reply: any, problem: string|null, status: number|null}} Outcome  of `reply` and `problem` one is null; both
 *   are, after an abort. `status` is null where no reply came: then the server may have done it or not, and the same request
 *   may be sent again
 */

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
 * @param {{body?: object, headers?: Record<string, string>, method?: string, failureText: string, lostText?: string,
 *   repeats?: boolean, signal?: AbortSignal, watch?: (run: () => Promise<Response>) => Promise<Response>}} options `headers`
 *   go beside a body; `failureText` is shown for a failure without a sentence of the server, `lostText` where no reply
 *   comes; `repeats`: see `fetchReply`; `watch` runs the request, and may tell of a late reply
 * @returns {Promise<Outcome>}
 */
export async function send(
  address,
  {
    body, headers, method = body === undefined ? "GET" : "POST", failureText, lostText = failureText, signal,
    repeats = method === "GET", watch = (run) => run(),
  },
) {
  const json = body !== undefined && {
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
  /** @type {number|null} */
  let status = null;
  try {
    const reply = await watch(() => fetchReply(address, { method, signal, ...json }, repeats));
    ({ status } = reply);
    if (reply.ok) return { reply: await reply.json(), problem: null, status };
    return { reply: null, problem: await readRefusal(reply, failureText), status };
  } catch {
    return { reply: null, problem: signal?.aborted ? null : lostText, status };
  }
}

/** Return the server's own sentence about a refusal. An error of the server itself, and a page of a proxy, have none. */
export async function readRefusal(reply, failureText) {
  const isSentence = reply.status !== SERVER_ERROR && (reply.headers.get("content-type") ?? "").startsWith("text/plain");
  return (isSentence && (await reply.text()).trim()) || failureText;
}
