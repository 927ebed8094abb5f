/** The filters of History: by author, by pin, and by words. */
import { foldText } from "../lib/fold.mjs";
import { _ } from "../lib/words.mjs";
import { findKind } from "./places.mjs";

const { createElement: h, useEffect, useMemo, useState } = window.React;

const MAX_UNSEARCHED_PLACES = 8; // with more checkpoints or branches, the search is shown
const KINDS = { all: _("All"), mine: _("Mine"), agent: _("Agent"), judge: _("Judge"), pinned: _("Pinned") };

/** @param {import("../lib/types.mjs").HistoryData} data @param {(words: string) => void} searchEarlier */
export function useFilter(data, searchEarlier) {
  const { thread, checkpoint_count: count, branch_count: branches } = data;
  const [kind, setKind] = useState("all");
  const [query, setQuery] = useState("");
  useEffect(() => {
    setKind("all");
    setQuery("");
  }, [thread]);
  const kinds = useMemo(() => listKinds(data), [data]);
  const isSearched = Math.max(count, branches) > MAX_UNSEARCHED_PLACES;
  const words = isSearched ? foldText(query.trim()) : "";
  useEffect(() => searchEarlier(words), [words]);
  const chosen = kinds.includes(kind) ? kind : "all";
  const value = useMemo(() => ({ kind: chosen, words }), [chosen, words]);
  const clear = () => {
    setKind("all");
    setQuery("");
  };
  return { value, kinds, setKind, query, setQuery, isSearched, clear };
}

/** List the filters that would hide something. */
function listKinds({ checkpoints, elsewhere, removed, moves }) {
  const shown = [...checkpoints, ...elsewhere, ...(removed?.checkpoints ?? [])];
  const authors = new Set([
    ...shown.map(findKind),
    ...(moves.length > 0 ? ["agent"] : []),
  ]);
  const isPinned = shown.some(({ pinned }) => pinned);
  const found = Object.keys(KINDS).filter((kind) => authors.has(kind) || (kind === "pinned" && isPinned));
  return found.length > 1 ? ["all", ...found] : [];
}

export function Filters({ filter: { value, kinds, setKind, query, setQuery, isSearched } }) {
  const toggle = (kind) =>
    h(
      "button",
      {
        key: kind, type: "button", className: "filter", "aria-pressed": value.kind === kind,
        onClick: () => setKind(value.kind === kind ? "all" : kind),
      },
      KINDS[kind],
    );
  return [
    kinds.length > 0 &&
      h("div", { key: "kinds", className: "filters", role: "group", "aria-label": _("Show") }, kinds.map(toggle)),
    isSearched &&
      h("input", {
        key: "search",
        type: "search",
        className: "form-control history-search",
        placeholder: _("Search checkpoints and branches"),
        "aria-label": _("Search checkpoints"),
        value: query,
        onChange: (event) => setQuery(event.target.value),
      }),
  ];
}
