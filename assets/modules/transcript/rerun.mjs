/** How far a rerun is: the questions that are asked again, and the comparison with the answers before. */
import { createOperationId } from "../lib/actions.mjs";
import { comparePlace } from "../lib/history-requests.mjs";
import { icon } from "../lib/icons.mjs";

const { createElement: h, useRef } = window.React;

/** @param {{rerun: import("../lib/types.mjs").RerunView, act: Function}} props */
export function RerunBanner({ rerun, act }) {
  const operation = useRef({ run: "", op: "" }); // a double click is one request
  const goOn = () => {
    if (operation.current.run !== rerun.run) operation.current = { run: rerun.run, op: createOperationId() };
    act("continue-rerun", {}, operation.current.op);
  };
  const button = (label, onClick) => h("button", { type: "button", className: "quiet-button", onClick }, label);
  return h(
    "div",
    { className: "outcome rerun", role: "status", "data-testid": "rerun" },
    icon("arrow-repeat"),
    h("div", { className: "outcome-text" }, h("p", null, describeRerun(rerun))),
    h(
      "div",
      { className: "outcome-buttons" },
      rerun.asking && button("Stop asking", () => act("stop-rerun")),
      !rerun.asking && !rerun.complete && !rerun.waiting && button("Go on", goOn),
      !rerun.asking && button("Compare", () => comparePlace(rerun.place)),
      rerun.closable && !rerun.asking && button("Dismiss", () => act("dismiss")),
    ),
  );
}

/** "Asking again on openai:gpt-5: question 3 of 7" */
function describeRerun({ number, total, asking, waiting, complete, model }) {
  const on = model ? ` on ${model}` : "";
  const place = `question ${number} of ${total}`;
  if (asking) return `Asking again${on}: ${place}${waiting ? " waits for your permission" : ""}`;
  if (complete) return total === 1 ? `The question was asked again${on}.` : `All ${total} questions were asked again${on}.`;
  const left = total - number;
  const rest = left === 0 ? "" : left === 1 ? " The last one was not." : ` The other ${left} were not.`;
  return `${number} of ${total} questions ${number === 1 ? "was" : "were"} asked again${on}.${rest}`;
}
