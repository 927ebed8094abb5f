/** The bubble of the running answer, and what a graph reports while it works. */
import { _ } from "../words/words.mjs";
import { LiveReasoning } from "./reasoning.mjs";

const { Fragment, createElement: h } = window.React;

/**
 * The elements into which an answer is written. React leaves their content alone.
 * @param {{answer: import("./live-answers.mjs").LiveAnswer, busy?: boolean, label?: string|null}} props
 */
export const LiveProse = ({ answer, busy = true, label = null }) =>
  h(
    Fragment,
    null,
    h(LiveReasoning, { cardRef: answer.setCard }),
    h("div", { className: "prose live-text", ref: answer.setBubble },
      h("div", { className: "stable" }),
      h("div", { className: "tail" }),
    ),
    label && h("p", { className: "quiet" }, label),
    busy && h("div", { className: "thinking", "aria-hidden": true }, h("span"), h("span"), h("span")),
  );

/** @param {Parameters<typeof LiveProse>[0]} props */
export const Live = (props) =>
  h(
    "article",
    {
      className: "message message-assistant live", "aria-label": _("The agent is answering"), "aria-busy": props.busy,
      "data-testid": "message", "data-role": "assistant", "data-state": "partial",
    },
    h(LiveProse, props),
  );

/** @param {{progress: import("../state/types.mjs").GraphProgressView}} props */
export const GraphProgress = ({ progress: { nodes, lines } }) =>
  h(
    "div",
    { className: "graph-progress quiet", "data-testid": "graph-progress" },
    lines.map((line, place) => h("p", { key: place }, line)),
    nodes.length > 0 && h("ul", { "aria-label": _("Nodes at work") }, nodes.map((node) => h("li", { key: node }, node))),
  );
