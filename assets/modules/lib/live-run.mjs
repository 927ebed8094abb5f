/** The run of the followed conversation, as its stream reports it: it knows of a run's beginning and end before the data. */
const { useSyncExternalStore } = window.React;

const STATES = { start: "running", end: "ended" };

/** @type {{thread: string|null, state: "running"|"ended"|null, version: number}} state: null if the stream knows no run */
let liveRun = { thread: null, state: null, version: 0 };
const listeners = new Set();

function set(next) {
  liveRun = next;
  for (const listener of listeners) listener();
}

/** Record a frame of a conversation. */
export function recordRun(thread, { kind, version, run }) {
  const known = liveRun.thread === thread ? liveRun.state : null;
  const state = kind === "hello" ? (run ? "running" : null) : (STATES[kind] ?? known);
  if (state !== known || (state !== null && version !== undefined)) set({ thread, state, version: version ?? liveRun.version });
}

/** Forget a run in progress: the connection is lost, and its end may be missed. */
export function forgetRun() {
  if (liveRun.state === "running") set({ ...liveRun, state: null });
}

const subscribe = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/**
 * @param {{thread?: string|null, version?: number, running?: boolean}} data
 * @param {boolean} isExpected whether a message was accepted whose run is not in the data yet
 * @returns {boolean} whether a run is in progress
 */
export function useRunning(data, isExpected) {
  const { thread, state, version } = useSyncExternalStore(subscribe, () => liveRun);
  if (thread !== null && thread === data.thread) {
    if (state === "running" && version >= data.version) return true;
    if (state === "ended" && version > data.version) return false;
  }
  return Boolean(data.running) || isExpected;
}
