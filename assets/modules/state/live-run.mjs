/** The run of the followed conversation, as its stream reports it: it knows of a run's beginning and end before the data. */
import { createValue } from "../browser/value.mjs";

const STATES = { start: "running", end: "ended" };

/**
 * @typedef {{thread: string|null, state: "running"|"ended"|null, version: number, rest: string|null}} LiveRun  `state`: null
 *   if the stream knows no run; `rest`: how it ended
 */

const liveRun = createValue(/** @type {LiveRun} */ ({ thread: null, state: null, version: 0, rest: null }));

/** Record a frame of a conversation. */
export function recordRun(thread, { kind, version, run, state: rest }) {
  const before = liveRun.get();
  const known = before.thread === thread ? before.state : null;
  const state = kind === "hello" ? (run ? "running" : null) : (STATES[kind] ?? known);
  if (state !== known || (state !== null && version !== undefined))
    liveRun.set({ thread, state, version: version ?? before.version, rest: kind === "end" ? rest : before.rest });
}

/** Forget a run in progress: the connection is lost, and its end may be missed. */
export function forgetRun() {
  if (liveRun.get().state === "running") liveRun.set({ ...liveRun.get(), state: null });
}

/** Return whether the stream has told of a conversation's run since a version. */
export function isRunTold(thread, version) {
  const live = liveRun.get();
  return live.thread === thread && live.state !== null && live.version > version;
}

/**
 * The data may be of before the run: then its end is the one that the stream has shown, also where nothing was written.
 * @param {{thread?: string|null, version?: number, running?: boolean, asking?: boolean, rest?: string|null}} data
 * @param {boolean} isExpected whether a message was accepted whose run is not in the data yet
 * @returns {{isRunning: boolean, rest: string|null}} whether a run is in progress, and how the last one ended
 */
export function useRunState(data, isExpected) {
  const { version = NaN } = data; // before the first data, no run is newer
  const live = liveRun.use();
  const isFollowed = live.thread !== null && live.thread === data.thread;
  if (isFollowed && live.state === "running" && live.version >= version) return { isRunning: true, rest: null };
  const isEndNewer = isFollowed && live.state === "ended" && live.version >= version;
  const rest = isEndNewer ? live.rest : (data.rest ?? null);
  // a rerun asks on
  if (isEndNewer && live.version > version) return { isRunning: rest === "done" && Boolean(data.asking), rest };
  return { isRunning: Boolean(data.running) || isExpected, rest };
}
