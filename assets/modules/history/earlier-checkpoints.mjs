/** The checkpoints that the data leaves out: earlier ones, and those that a search finds among them. */
const { useEffect, useMemo, useRef, useState } = window.React;

const PORTION_CHECKPOINTS = 200; // that each "Show earlier" adds, and that a search finds
const SEARCH_AFTER_MS = 250; // without another letter
const NO_CHECKPOINTS = [];

/** Return the last reply that has this field: the replies of other actions take its place. */
export function useLastReply(reply, field) {
  const last = useRef(undefined);
  if (reply?.[field]) last.current = reply;
  return last.current;
}

/**
 * Join the checkpoints of the data with those that the server was asked for, and bring these again after each change.
 * @param {import("../lib/types.mjs").HistoryData} data @param {import("../lib/types.mjs").CheckpointPortion} [reply]
 */
export function useCheckpoints(data, reply, act) {
  const [count, setCount] = useState(0); // that the page asked for
  const [words, setWords] = useState("");
  const isWhole = data.checkpoint_count === data.checkpoints.length;
  useEffect(() => {
    setCount(0);
    setWords("");
  }, [data.thread]);
  useEffect(() => {
    if (isWhole || (count === 0 && words === "")) return undefined;
    const ask = () => act("checkpoints", { count: Math.max(count, PORTION_CHECKPOINTS), text: words });
    const timer = setTimeout(ask, words === "" ? 0 : SEARCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isWhole, count, words, data.version]);
  const isWanted = !isWhole && reply?.thread === data.thread && (words !== "" || (count > 0 && reply.words === ""));
  const portion = isWanted ? reply.checkpoints : NO_CHECKPOINTS;
  const checkpoints = useMemo(() => joinCheckpoints(portion, data.checkpoints), [portion, data.checkpoints]);
  const showEarlier = () => setCount(checkpoints.length + PORTION_CHECKPOINTS);
  return { checkpoints, hidden: data.checkpoint_count - checkpoints.length, showEarlier, search: setWords };
}

/** The data is newer than the portion, until this was brought again. */
function joinCheckpoints(portion, newest) {
  if (portion.length === 0) return newest;
  const byId = new Map([...portion.map((each) => ({ ...each, here: false })), ...newest].map((each) => [each.id, each]));
  return [...byId.values()].sort((one, other) => one.position - other.position);
}
