/** Step through the checkpoints: the transcript shows the message of each, and no head moves. */
import { icon } from "../lib/icons.mjs";
import { showToast } from "../lib/toast.mjs";

const { createElement: h, useCallback, useEffect, useRef, useState } = window.React;
const { flushSync } = window.ReactDOM;

/**
 * Step in the order of the conversation. The current position comes after the last checkpoint.
 * @param {import("../lib/types.mjs").CheckpointView[]} checkpoints
 * @returns {{selected: string|null, show: Function, stepBack: Function|null, stepForward: Function|null}}
 */
export function useStepping(checkpoints, thread) {
  const [selected, setSelected] = useState(null);
  useEffect(() => setSelected(null), [thread]);
  const show = useCallback((checkpoint) => {
    setSelected(checkpoint?.id ?? null);
    const message = checkpoint?.message ?? null;
    if (checkpoint && message === null) showToast(`${checkpoint.name} is not on the current path. Restore it to see its messages.`);
    else document.dispatchEvent(new CustomEvent("waymark-show", { detail: { message } }));
  }, []);

  const ordered = [...checkpoints].sort((one, other) => one.messages - other.messages);
  const selectedIndex = ordered.findIndex(({ id }) => id === selected);
  const hereIndex = ordered.findIndex((place) => place.here);
  const currentIndex = selectedIndex >= 0 ? selectedIndex : hereIndex >= 0 ? hereIndex : ordered.length;
  const stepBack = currentIndex > 0 ? () => show(ordered[currentIndex - 1]) : null;
  const stepForward = selectedIndex >= 0 ? () => show(ordered[currentIndex + 1] ?? null) : null;
  useStepKeys(stepBack, stepForward);
  return { selected, show, stepBack, stepForward };
}

/** Step on Alt with an arrow key, except in a field with text, where these keys move the caret. */
function useStepKeys(stepBack, stepForward) {
  const latest = useRef({});
  latest.current = { ArrowUp: stepBack, ArrowDown: stepForward };
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
