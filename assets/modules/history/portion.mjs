/** The branches and checkpoints that the data leaves out: earlier ones, and checkpoints that a search finds among them. */
const { useEffect, useMemo, useRef, useState } = window.React;

const SEARCH_AFTER_MS = 250; // without another letter

/** Return the last reply that has this field: the replies of other actions take its place. */
function useLastReply(reply, field) {
  const last = useRef(undefined);
  if (reply?.[field]) last.current = reply;
  return last.current;
}

/**
 * Join the data with the portions that the server was asked for, and bring these again after each change.
 * @param {import("../lib/types.mjs").HistoryData} data
 * @param {import("../lib/types.mjs").HistoryPortion|undefined} reply @param {import("../lib/types.mjs").Act} act
 */
export function usePortion(data, reply, act) {
  const last = useLastReply(reply, "segments");
  const [count, setCount] = useState(1); // portions that the page asked for
  const [words, setWords] = useState("");
  const [wanted, setWanted] = useState(null); // a checkpoint that the conversation shows
  const isWhole = data.checkpoint_count === data.checkpoints.length && data.branch_count === data.branches.length;
  useEffect(() => {
    setCount(1);
    setWords("");
    setWanted(null);
  }, [data.thread]);
  useEffect(() => {
    if (isWhole || (count === 1 && words === "" && wanted === null)) return undefined;
    const place = wanted !== null && { checkpoint: wanted };
    const timer = setTimeout(() => act("portion", { count, text: words, ...place }), words === "" ? 0 : SEARCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isWhole, count, words, wanted, data.version]);
  const isWanted =
    !isWhole && last?.thread === data.thread && (words !== "" || ((count > 1 || wanted !== null) && last.words === ""));
  const joined = useMemo(() => (isWanted ? joinPortion(last, data) : data), [isWanted && last, data]);
  const hidden = data.checkpoint_count + data.branch_count - joined.checkpoints.length - joined.branches.length;
  return { data: joined, hidden, showEarlier: () => setCount(count + 1), search: setWords, include: setWanted };
}

/** Join a portion and the data, which is newer than the portion until this was brought again. */
function joinPortion(portion, data) {
  const join = (list, changes = {}) => {
    const byId = new Map(portion[list].map((each) => [each.id, { ...each, ...changes }]));
    for (const each of data[list]) byId.set(each.id, each);
    return [...byId.values()];
  };
  const own = join("checkpoints", { here: false }).sort((one, other) => one.position - other.position);
  const ids = new Set(own.map(({ id }) => id));
  // a portion has more of them
  const segments = new Map([...data.segments, ...portion.segments].map((each) => [each.id, each]));
  const elsewhere = join("elsewhere").filter(({ id }) => !ids.has(id));
  return {
    ...data,
    checkpoints: own,
    branches: join("branches", { current: false }),
    elsewhere,
    segments: [...segments.values()],
    moves: join("moves"),
    alternatives: join("alternatives"),
  };
}
