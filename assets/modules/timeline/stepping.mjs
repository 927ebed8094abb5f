/** Step through the checkpoints: the transcript shows the message of each, and no head moves. */
import { icon } from "../lib/icons.mjs";
import { toast } from "../lib/toast.mjs";

const { createElement: h, useCallback, useEffect, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

/**
 * Step in the order of the conversation. The current position comes after the last checkpoint.
 * @param {import("../lib/types.mjs").CheckpointView[]} checkpoints
 * @returns {{selected: string|null, show: Function, back: Function|null, forward: Function|null}}
 */
export function useStepping(checkpoints, thread) {
  const [selected, setSelected] = useState(null);
  useEffect(() => setSelected(null), [thread]);
  const show = useCallback((checkpoint) => {
    setSelected(checkpoint?.id ?? null);
    const message = checkpoint?.message ?? null;
    if (checkpoint && message === null) toast(`${checkpoint.name} is not on the current path. Restore it to see its messages.`);
    else document.dispatchEvent(new CustomEvent("waymark-show", { detail: { message } }));
  }, []);

  const places = [...checkpoints].sort((one, other) => one.messages - other.messages);
  const at = places.findIndex(({ id }) => id === selected);
  const here = places.findIndex((place) => place.here);
  const now = at >= 0 ? at : here >= 0 ? here : places.length;
  const back = now > 0 ? () => show(places[now - 1]) : null;
  const forward = at >= 0 ? () => show(places[now + 1] ?? null) : null;
  useStepKeys(back, forward);
  return { selected, show, back, forward };
}

/** Step on Alt with an arrow key, except in a field with text, where these keys move the caret. */
function useStepKeys(back, forward) {
  const latest = useRef({});
  latest.current = { ArrowUp: back, ArrowDown: forward };
  useEffect(() => {
    const onKeyDown = (event) => {
      const isOther = !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || document.querySelector(".modal.show");
      if (isOther || event.target.value || !(event.key in latest.current)) return;
      event.preventDefault();
      flushSync(() => latest.current[event.key]?.());
      document.querySelector('.checkpoint.selected [data-testid="restore"]')?.focus({ preventScroll: true });
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** @param {{name: string, sign: string, keys: string, onStep: Function|null}} props */
export function Step({ name, sign, keys, onStep }) {
  return h(
    "button",
    {
      type: "button",
      className: "icon-button",
      "aria-label": name,
      "aria-disabled": onStep === null, // not `disabled`: the pressed button would lose the focus
      "aria-keyshortcuts": `Alt+${keys}`,
      title: `${name} (Alt+${keys === "ArrowUp" ? "↑" : "↓"})`,
      onClick: () => onStep?.(),
    },
    icon(sign),
  );
}
