/** Load parts of the page when they are first needed. */
import { holdKeys, typeKeys } from "./held-keys.mjs";
import { showToast } from "./toast.mjs";
import { _ } from "./words.mjs";

const { createElement: h, useEffect, useState } = window.React;
const { flushSync } = window.ReactDOM;

const MAX_SILENCE_MS = 300; // then a part that is still on its way is announced
let awaited = 0; // parts that are announced

/** @typedef {((props: any) => any) & {load: () => Promise<any>}} LazyPart */

/**
 * Wrap a component whose module is fetched when it is first shown. Until then, and without a server, it renders nothing; it
 * is fetched again when its property `attempt` changes. A component with `onClose` will have the focus: keys typed meanwhile
 * are kept for it, and Escape calls it off.
 * @template M
 * @param {() => Promise<M>} fetchModule
 * @param {keyof M & string} name of the export
 * @param {string|null} [failureText] shown when the module cannot be fetched; the component's `onClose` is called as well. A
 *   part with such a text is one that a person asked for: while it is on its way, the page says so
 * @returns {LazyPart} `load` fetches without showing, and resolves to null on failure
 */
export function lazy(fetchModule, name, failureText = null) {
  /** @type {any} */
  let part = null;
  /** @type {Promise<M>|null} */
  let loading = null;

  async function load() {
    if (part !== null) return part;
    const endWait = loading === null && failureText !== null ? announceWait() : () => undefined;
    loading ??= fetchModule();
    try {
      part = (await loading)[name];
    } catch {
      if (loading !== null && failureText !== null) showToast(failureText); // one toast for all waiting callers
      loading = null;
    }
    endWait();
    return part;
  }

  function Lazy(props) {
    const [isLoaded, setLoaded] = useState(part !== null);
    useEffect(() => {
      if (isLoaded) return undefined;
      const held = failureText !== null && props.onClose ? holdKeys() : { release: () => [] };
      load().then((loaded) => {
        const keys = held.release();
        if (loaded === null || keys.includes("Escape")) return props.onClose?.();
        flushSync(() => setLoaded(true));
        return typeKeys(keys);
      });
      return held.release; // it was closed meanwhile
    }, [props.attempt]);
    return isLoaded ? h(part, props) : null;
  }
  return Object.assign(Lazy, { load });
}

/** Say that a part is on its way, once that takes long. @returns {() => void} ends it */
function announceWait() {
  let isShown = false;
  const timer = setTimeout(() => {
    isShown = true;
    showWaits(1);
  }, MAX_SILENCE_MS);
  return () => (clearTimeout(timer), isShown && showWaits(-1));
}

function showWaits(change) {
  awaited += change;
  const status =
    document.querySelector(".part-wait") ??
    document.body.appendChild(Object.assign(document.createElement("div"), { className: "part-wait" }));
  status.setAttribute("role", "status");
  const spinner = Object.assign(document.createElement("span"), { className: "spinner" });
  status.replaceChildren(...(awaited > 0 ? [spinner, _("Loading…")] : []));
}
