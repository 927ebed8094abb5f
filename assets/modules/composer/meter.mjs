/** The context meter: how full the model's window is and, when opened, how much the conversation has used. */
import { count, money, usageText } from "../lib/format.mjs";

const { createElement: h, useEffect, useRef, useState } = window.React;

const BYTES_PER_TOKEN = 4; // the server's estimate (agent/context/tokens.py)
const LEVELS = [[95, "danger"], [80, "warning"], [0, "calm"]];
const PANEL = "meter-panel";

/** @returns {number} estimated tokens, in steps: most key presses then render nothing */
export const estimateTokens = (text) => Math.floor(text.length / 1024) * (1024 / BYTES_PER_TOKEN);

/** @param {{thread: string, version: number, meter: MeterView, typed: number}} props */
export function Meter({ thread, version, meter, typed }) {
  const { isOpen, setOpen, box, onKeyDown } = usePopover(thread);
  const tokens = meter.tokens + typed;
  const percent = (100 * tokens) / meter.most;
  const [, level] = LEVELS.find(([least]) => percent >= least);
  const about = meter.exact && typed === 0 ? "" : "about ";
  const share = percent < 1 ? "under 1 %" : `${about}${Math.round(percent)} %`;
  return h(
    "div",
    { className: "meter", ref: box, onKeyDown },
    h(
      "button",
      {
        type: "button",
        className: "text-button meter-button",
        "data-testid": "meter",
        "data-level": level,
        title: "How full the model's context is",
        "aria-expanded": isOpen,
        "aria-controls": isOpen ? PANEL : undefined,
        onClick: () => setOpen(!isOpen),
      },
      h("span", { className: "visually-hidden" }, "Context: "),
      h("span", { className: "meter-bar", "aria-hidden": true }, h("span", { style: { width: `${Math.min(100, percent)}%` } })),
      h("span", null, share),
      h("span", { className: "meter-of" }, ` of ${count(meter.most, "token")}`),
    ),
    isOpen && h(Panel, { thread, version, meter, tokens, about }),
  );
}

/** Open and close the panel. Another thread, a click outside and Escape close it. */
function usePopover(thread) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef(null);
  useEffect(() => setOpen(false), [thread]);
  useEffect(() => {
    if (!isOpen) return undefined;
    const leave = (event) => !box.current.contains(event.target) && setOpen(false);
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, [isOpen]);
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || !isOpen) return;
    event.stopPropagation();
    setOpen(false);
    box.current.querySelector("button").focus();
  };
  return { isOpen, setOpen, box, onKeyDown };
}

function Panel({ thread, version, meter, tokens, about }) {
  const { most, answer, messages, left_out: leftOut } = meter;
  const whole = (number) => number.toLocaleString("en-GB");
  const full = `${about}${whole(tokens)} of ${whole(most)} tokens; ${whole(answer)} more are reserved for the answer.`;
  return h(
    "div",
    { id: PANEL, className: "meter-panel", role: "group", "aria-label": "Context and usage" },
    h("p", null, full.charAt(0).toUpperCase() + full.slice(1)),
    h(
      "p",
      { className: leftOut > 0 ? "meter-left-out" : undefined },
      leftOut > 0
        ? `The model no longer sees the first ${whole(leftOut)} of ${count(messages, "message")}. They stay in the conversation.`
        : `The model sees ${messages === 1 ? "the message" : `all ${whole(messages)} messages`}.`,
    ),
    h(Used, { thread, version }),
  );
}

/** The usage so far. Fetched when the panel opens, because the server reads the whole conversation for it. */
function Used({ thread, version }) {
  const [said, setSaid] = useState("…");
  useEffect(() => {
    const leaving = new AbortController();
    fetch(`/api/threads/${encodeURIComponent(thread)}/usage`, { signal: leaving.signal })
      .then((reply) => (reply.ok ? reply.json() : Promise.reject(new Error(String(reply.status)))))
      .then((used) => setSaid(describeUsage(used)))
      .catch(() => leaving.signal.aborted || setSaid("Usage cannot be read right now."));
    return () => leaving.abort();
  }, [thread, version]);
  return h("p", { role: "status" }, said);
}

/** @param {import("../lib/types.mjs").Tokens & {answers: number, priced: number, cost: number}} used */
function describeUsage(used) {
  if (used.answers === 0) return "No usage reported yet.";
  const cost = used.priced > 0 ? `, ${money(used.cost)}` : "";
  const some = used.priced > 0 && used.priced < used.answers ? ` (without ${count(used.answers - used.priced, "answer")} of unknown price)` : "";
  return `So far: ${usageText(used)}${cost}${some}.`;
}
