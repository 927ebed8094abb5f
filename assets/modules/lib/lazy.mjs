/** Load parts of the page when they are first needed. */
import { showToast } from "./toast.mjs";

const { createElement: h, useEffect, useState } = window.React;

/**
 * Wrap a component whose module is fetched when it is first shown. Until then, and without a server, it renders nothing; it
 * is fetched again when its property `attempt` changes.
 * @param {() => Promise<object>} fetchModule
 * @param {string} name of the export
 * @param {string|null} [failureText] shown when the module cannot be fetched; the component's `onClose` is called as well
 * @returns {Function & {load: () => Promise<Function|null>}} `load` fetches without showing, and resolves to null on failure
 */
export function lazy(fetchModule, name, failureText = null) {
  let part = null;
  let loading = null;

  async function load() {
    loading ??= fetchModule();
    try {
      part = (await loading)[name];
    } catch {
      if (loading !== null && failureText !== null) showToast(failureText); // one toast for all waiting callers
      loading = null;
    }
    return part;
  }

  function Lazy(props) {
    const [isLoaded, setLoaded] = useState(part !== null);
    useEffect(() => {
      if (!isLoaded) load().then((loaded) => (loaded === null ? props.onClose?.() : setLoaded(true)));
    }, [props.attempt]);
    return isLoaded ? h(part, props) : null;
  }
  return Object.assign(Lazy, { load });
}
