/** The run of the followed conversation, as its stream reports it: it knows of a run's beginning and end before the data. */
const { useSyncExternalStore } = window.React;

const STATES = { start: "running", end: "ended" };

/**
 * @type {{thread: string|null, state: "running"|"ended"|null, version: number, rest: string|null}} state: null if the stream
 *   knows no run; rest: how it ended
 */
let liveRun = { thread: null, state: null, version: 0, rest: null };
const listeners = new Set();

function set(next) {
  liveRun = next;
  for (const listener of listeners) listener();
}

/** Record a frame of a conversation. */
export function recordRun(thread, { kind, version, run, state: rest }) {
  const known = liveRun.thread === thread ? liveRun.state : null;
  const state = kind === "hello" ? (run ? "running" : null) : (STATES[kind] ?? known);
  if (state !== known || (state !== null && version !== undefined))
    set({ thread, state, version: version ?? liveRun.version, rest: kind === "end" ? rest : liveRun.rest });
}

/** Forget a run in progress: the connection is lost, and its end may be missed. */
export function forgetRun() {
  if (liveRun.state === "running") set({ ...liveRun, state: null });
}

/** Return whether the stream has told of a conversation's run since a version. */
export const isRunTold = (thread, version) =>
  liveRun.thread === thread && liveRun.state !== null && liveRun.version > version;

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/**
 * The data may be of before the run: then its end is the one that the stream has shown, also where nothing was written.
 * @param {{thread?: string|null, version?: number, running?: boolean, asking?: boolean, rest?: string|null}} data
 * @param {boolean} isExpected whether a message was accepted whose run is not in the data yet
 * @returns {{isRunning: boolean, rest: string|null}} whether a run is in progress, and how the last one ended
 */
export function useRunState(data, isExpected) {
  const { version = NaN } = data; // before the first data, no run is newer
  const live = useSyncExternalStore(subscribe, () => liveRun);
  const isFollowed = live.thread !== null && live.thread === data.thread;
  if (isFollowed && live.state === "running" && live.version >= version) return { isRunning: true, rest: null };
  const isEndNewer = isFollowed && live.state === "ended" && live.version >= version;
  const rest = isEndNewer ? live.rest : (data.rest ?? null);
  // a rerun asks on
  if (isEndNewer && live.version > version) return { isRunning: rest === "done" && Boolean(data.asking), rest };
  return { isRunning: Boolean(data.running) || isExpected, rest };
}
