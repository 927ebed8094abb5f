/** One request with a JSON reply, for all dialogs: its outcome is the reply, or a problem that a person can read. */
const SERVER_ERROR = 500;

/**
 * @typedef {{reply: any, problem: string|null, status: number|null}} Outcome  of `reply` and `problem` one is null; both
 *   are, after an abort. `status` is null where no reply came: then the server may have done it or not, and the same request
 *   may be sent again
 */

/**
 * Read JSON, or send JSON with a body.
 * @param {string} address
 * @param {{body?: object, headers?: Record<string, string>, method?: string, failureText: string, lostText?: string,
 *   signal?: AbortSignal, watch?: (run: () => Promise<Response>) => Promise<Response>}} options `headers` go beside a body;
 *   `failureText` is shown for a failure without a sentence of the server, `lostText` where no reply comes; `watch` runs the
 *   request, and may tell of a late reply
 * @returns {Promise<Outcome>}
 */
export async function send(
  address,
  {
    body, headers, method = body === undefined ? "GET" : "POST", failureText, lostText = failureText, signal,
    watch = (run) => run(),
  },
) {
  const json = body !== undefined && {
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
  let status = null;
  try {
    const reply = await watch(() => fetch(address, { method, signal, ...json }));
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
