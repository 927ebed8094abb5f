/**
 * Merge the transcript's two sources: `data` from callbacks, and the socket's frames. Pure functions.
 *
 * The rule: union by message id. `data` decides the order and, once its version has caught up, everything.
 */

import { leaveCandidates, nextCandidates, pickCandidates } from "./candidates.mjs";

/**
 * @typedef {import("../state/types.mjs").MessageView} MessageView
 * @typedef {{id: string|null, state: string, error: string|null, details?: string|null, version: number}} StreamRun  a run
 *   as the socket reports it
 * @typedef {{arrived: {message: MessageView, version: number, after?: string|null}[], run: StreamRun|null,
 *   candidates: import("../state/types.mjs").CandidatesView|null,
 *   progress: import("../state/types.mjs").GraphProgressView|null,
 *   before: number|null}} Stream  `before`: the runs that begin before one that waits; null if none does
 */

/** @type {Stream} */
export const EMPTY_STREAM = { arrived: [], run: null, candidates: null, progress: null, before: null };

const BAD_ENDS = ["stopped", "failed", "interrupted"];

function insertMessage(arrived, { message, version, after }) {
  const before = arrived.find((item) => item.message.id === message.id);
  const others = arrived.filter((item) => item !== before);
  return [...others, { message, version, after: after === undefined ? before?.after : after }];
}

/**
 * @param {Stream} stream
 * @param {import("../state/types.mjs").Frame} frame of the socket, or {kind: "data", data} when a callback has delivered
 * @returns {Stream}
 */
export function nextStream(stream, frame) {
  if (frame.kind === "data") return dropKnown(stream, frame.data);
  const [next, candidates] = [nextAnswer(stream, frame), nextCandidates(stream.candidates, frame)];
  return next === stream && candidates === stream.candidates ? stream : { ...next, candidates };
}

function nextAnswer(stream, frame) {
  const { version } = frame;
  switch (frame.kind) {
    case "hello": {
      if (frame.run?.rest) return { ...stream, run: restRun(frame.run.rest, version) };
      const run = frame.run ? beginRun(frame.run.id, version) : endMissedRun(stream.run, version);
      return { ...stream, run, before: frame.before ?? null, progress: frame.run?.progress ?? null };
    }
    case "start": {
      const arrived = frame.message ? insertMessage(stream.arrived, frame) : stream.arrived;
      return { ...stream, arrived, run: beginRun(frame.run, version), progress: null, before: null };
    }
    case "queued":
      return { ...stream, before: frame.before };
    case "progress":
      return { ...stream, progress: { nodes: frame.nodes, lines: frame.lines } };
    case "delta":
    case "reasoning":
    case "texts":
      return stream.run?.state === "running" ? stream : { ...stream, run: beginRun(null, 0) };
    case "message":
      return { ...stream, arrived: insertMessage(stream.arrived, frame) };
    case "rest":
      return { ...stream, run: restRun(frame, stream.run?.version ?? 0) };
    case "end": {
      const { state, error, details } = frame;
      const run = { id: stream.run?.id ?? null, state, error, details, version };
      return { ...stream, progress: null, before: null, run };
    }
    case "dismiss":
      return { ...stream, run: null };
    default:
      return stream;
  }
}

const beginRun = (id, version) => ({ id, state: "running", error: null, version });

/** A run whose work has ended, and whose end the database does not have yet: the data still reports it as running. */
const restRun = ({ run, state, error }, version) => ({ id: run, state, error, version });

/** End a run that ended while the socket was down. The data will report its state. */
const endMissedRun = (run, version) => (run?.state === "running" ? { ...run, state: "unknown", version } : run);

/**
 * @returns {boolean} whether the data has this run's end. A final state counts from either source, but a reply made
 *   before the run's end may still report it as running, and one of several answers may have begun again since.
 */
export function hasRunEnd(data, run) {
  if (run === null) return true;
  const isBegunAgain = run.state === "running" && run.version > data.version;
  if (data.run?.id === run.id) return data.run.state !== "running" && !isBegunAgain;
  return run.state !== "running" && run.version <= data.version;
}

/** Drop messages and runs that the data now includes. */
function dropKnown(stream, data) {
  const arrived = stream.arrived.filter((item) => item.version > data.version);
  return { ...stream, arrived, ...(hasRunEnd(data, stream.run) && { run: null, candidates: null }) };
}

/**
 * @param {import("../state/types.mjs").TranscriptData} data
 * @param {Stream} stream
 */
export function mergeTranscript(data, stream) {
  // What is new belongs to the end, which is not loaded while the page shows an earlier part.
  if (data.later) return { messages: data.messages, candidates: null };
  const left = leaveCandidates(data, stream.run);
  return { messages: mergeMessages(left, stream), candidates: pickCandidates(left, stream.candidates) };
}

/** @returns {MessageView[]} every message once, in the order of `data`, then newer messages */
function mergeMessages(data, stream) {
  const newer = new Map();
  for (const { message, version } of stream.arrived) if (version >= data.version) newer.set(message.id, message);
  const known = new Set(data.messages.map((message) => message.id));
  let shown = data.messages.map((message) =>
    // Only the data knows the alternatives.
    newer.has(message.id) ? { ...newer.get(message.id), siblings: message.siblings } : message,
  );
  for (const { message, version, after } of stream.arrived) {
    if (version > data.version && !known.has(message.id)) shown = [...cutAfter(shown, after), message];
  }
  return shown;
}

/** Keep the messages up to `after`. If it is not the last one, a message was edited there or the agent went back. */
function cutAfter(messages, after) {
  if (after === null) return [];
  const place = messages.findLastIndex(({ id, tools }) => id === after || tools.some((tool) => tool.message_id === after));
  return place < 0 ? messages : messages.slice(0, place + 1);
}

/** @returns {{id: string|null, state: string, error: string|null}|null} the newest run that either source knows */
export function pickNewestRun(data, { run }) {
  if (!run) return data.run;
  if (data.run?.id === run.id) return { ...run, compacts: data.run.compacts };
  return run.state === "running" || !data.run || run.version >= data.version ? run : data.run;
}

export const hasEndedBadly = (run) => run !== null && BAD_ENDS.includes(run.state);

/**
 * @param {MessageView[]} messages
 * @returns {string[]} the models that wrote them. If there are several, each answer names its own
 */
export const listModels = (messages) => [...new Set(messages.flatMap(({ model }) => model || []))];
