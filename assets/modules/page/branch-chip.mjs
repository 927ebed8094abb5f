/** The branch beside the title of the conversation. */
import { formatCount } from "../lib/format.mjs";
import { useShownBranch } from "../lib/shown-branch.mjs";

const { createElement: h } = window.React;

/** A Dash component without properties. */
export function BranchChip() {
  const branch = useShownBranch();
  if (branch === null || branch.messages === 0) return null;
  const text = `${branch.name} · ${formatCount(branch.messages, "message")}`;
  return h("span", { className: "branch-chip", title: text }, text);
}
