/**
 * What the transcript shows, from two sources: `data`, which callbacks bring, and the socket's frames. Pure functions.
 *
 * The rule: union by message id; `data` wins for the order and, once its version has caught up, for everything.
 */

/**
 * @typedef {{id: string|null, state: string, error: string|null, version: number}} StreamRun  a run as the socket tells it
 * @typedef {{arrived: {message: MessageView, version: number, after?: string|null}[], run: StreamRun|null}} Stream
 */

/** @type {Stream} */
export const EMPTY_STREAM = { arrived: [], run: null };

const RESTING_WITH_NEWS = ["stopped", "failed", "interrupted"];

const insert = (arrived, { message, version, after }) => {
  const before = arrived.find((item) => item.message.id === message.id);
  return [...arrived.filter((item) => item !== before), { message, version, after: after === undefined ? before?.after : after }];
};

/**
 * @param {Stream} stream
 * @param {object} frame of the socket, or {k: "data", data} when a callback has delivered
 * @returns {Stream}
 */
export function nextStream(stream, frame) {
  switch (frame.k) {
    case "hello":
      return { ...stream, run: frame.run ? beginRun(frame.run.id, frame.version) : endUnseen(stream.run, frame.version) };
    case "start":
      return {
        arrived: frame.message ? insert(stream.arrived, frame) : stream.arrived,
        run: beginRun(frame.run, frame.version),
      };
    case "delta":
    case "think":
      return stream.run?.state === "running" ? stream : { ...stream, run: beginRun(null, 0) };
    case "message":
      return { ...stream, arrived: insert(stream.arrived, frame) };
    case "end":
      return { ...stream, run: { id: stream.run?.id ?? null, state: frame.state, error: frame.error, version: frame.version } };
    case "dismiss":
      return { ...stream, run: null };
    case "data":
      return catchUp(stream, frame.data);
    default:
      return stream;
  }
}

const beginRun = (id, version) => ({ id, state: "running", error: null, version });

/** The run came to rest while the socket was down; how, the data will tell. */
const endUnseen = (run, version) => (run?.state === "running" ? { ...run, state: "unknown", version } : run);

/**
 * @returns {boolean} whether the data knows how this run ended. Rest is final, whoever tells it first; but a reply
 *   made before the run's end may still call it running.
 */
export function knowsTheEnd(data, run) {
  if (run === null) return true;
  if (data.run?.id === run.id) return data.run.state !== "running";
  return run.state !== "running" && run.version <= data.version;
}

/** Forget what the data now knows better. */
const catchUp = (stream, data) => ({
  arrived: stream.arrived.filter((item) => item.version > data.version),
  run: knowsTheEnd(data, stream.run) ? null : stream.run,
});

/** @returns {MessageView[]} every message once, in the order of `data`, then what is newer than `data` */
export function mergeMessages(data, stream) {
  const newer = new Map();
  for (const { message, version } of stream.arrived) if (version >= data.version) newer.set(message.id, message);
  const known = new Set(data.messages.map((message) => message.id));
  let shown = data.messages.map((message) =>
    // Of alternatives only the data knows.
    newer.has(message.id) ? { ...newer.get(message.id), siblings: message.siblings } : message,
  );
  for (const { message, version, after } of stream.arrived) {
    if (version > data.version && !known.has(message.id)) shown = [...cutAfter(shown, after), message];
  }
  return shown;
}

/** What stays when a message comes after another one than the last: something was changed there, or the agent went back. */
function cutAfter(messages, after) {
  if (after === null) return [];
  const place = messages.findLastIndex(({ id, tools }) => id === after || tools.some((tool) => tool.message_id === after));
  return place < 0 ? messages : messages.slice(0, place + 1);
}

/** @returns {{id: string|null, state: string, error: string|null}|null} the newest run, as far as either source knows */
export function pickNewestRun(data, stream) {
  const { run } = stream;
  if (!run) return data.run;
  if (data.run?.id === run.id) return { ...run, compacts: data.run.compacts };
  if (run.state === "running" || !data.run) return run;
  return run.version >= data.version ? run : data.run;
}

export const hasNews = (run) => run !== null && RESTING_WITH_NEWS.includes(run.state);
