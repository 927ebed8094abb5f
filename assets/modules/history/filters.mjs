/** The filters of History: by author, by pin, and by words; and the earlier places, which the data leaves out at first. */
import { button } from "../controls/buttons.mjs";
import { foldText } from "../words/direction.mjs";
import { _ } from "../words/words.mjs";
import { findKind } from "./places.mjs";

const { createElement: h, useEffect, useMemo, useState, useRef } = window.React;

const SEARCH_AFTER_MS = 250; // without another letter

/**
 * Join the data with the portions that the server was asked for, and bring these again after each change.
 * @param {import("../state/types.mjs").HistoryData} data
 * @param {import("../state/types.mjs").HistoryPortion|undefined} reply @param {import("../state/types.mjs").Act} act
 */
export function usePortion(data, reply, act) {
  const latest = useRef(reply);
  if (reply?.segments) latest.current = reply; // the replies of other actions take its place
  const { current: last } = latest;
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
  const joinById = (older, newer) => [...new Map([...older, ...newer].map((each) => [each.id, each])).values()];
  const join = (list, changes = {}) => joinById(portion[list].map((each) => ({ ...each, ...changes })), data[list]);
  const own = join("checkpoints", { here: false }).sort((one, other) => one.position - other.position);
  const ids = new Set(own.map(({ id }) => id));
  return {
    ...data,
    checkpoints: own,
    branches: join("branches", { current: false }),
    elsewhere: join("elsewhere").filter(({ id }) => !ids.has(id)),
    segments: joinById(data.segments, portion.segments), // a portion has more of them
    moves: join("moves"),
    alternatives: join("alternatives"),
  };
}

const MAX_UNSEARCHED_PLACES = 8; // with more checkpoints or branches, the search is shown
const KINDS = { all: _("All"), mine: _("Mine"), agent: _("Agent"), judge: _("Judge"), pinned: _("Pinned") };

/** @param {import("../state/types.mjs").HistoryData} data @param {(words: string) => void} searchEarlier */
export function useFilter(data, searchEarlier) {
  const { thread, checkpoint_count: count, branch_count: branches } = data;
  const [kind, setKind] = useState("all");
  const [query, setQuery] = useState("");
  const clear = () => {
    setKind("all");
    setQuery("");
  };
  useEffect(clear, [thread]);
  const kinds = useMemo(() => listKinds(data), [data]);
  const isSearched = Math.max(count, branches) > MAX_UNSEARCHED_PLACES;
  const words = isSearched ? foldText(query.trim()) : "";
  useEffect(() => searchEarlier(words), [words]);
  const chosen = kinds.includes(kind) ? kind : "all";
  const value = useMemo(() => ({ kind: chosen, words }), [chosen, words]);
  return { value, kinds, setKind, query, setQuery, isSearched, clear };
}

/** List the filters that would hide something. */
function listKinds({ checkpoints, elsewhere, removed, moves }) {
  const shown = [...checkpoints, ...elsewhere, ...(removed?.checkpoints ?? [])];
  const authors = new Set([...shown.map(findKind), ...(moves.length > 0 ? ["agent"] : [])]);
  const isPinned = shown.some(({ pinned }) => pinned);
  const found = Object.keys(KINDS).filter((kind) => authors.has(kind) || (kind === "pinned" && isPinned));
  return found.length > 1 ? ["all", ...found] : [];
}

export function Filters({ filter: { value, kinds, setKind, query, setQuery, isSearched } }) {
  const toggle = (kind) =>
    button("filter", KINDS[kind], () => setKind(value.kind === kind ? "all" : kind), {
      key: kind, "aria-pressed": value.kind === kind,
    });
  return [
    kinds.length > 0 &&
      h("div", { key: "kinds", className: "filters", role: "group", "aria-label": _("Show") }, kinds.map(toggle)),
    isSearched &&
      h("input", {
        key: "search", type: "search", className: "form-control history-search", value: query,
        placeholder: _("Search checkpoints and branches"), "aria-label": _("Search checkpoints"),
        onChange: (event) => setQuery(event.target.value),
      }),
  ];
}
