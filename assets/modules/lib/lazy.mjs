/** Parts of the page that are fetched when they are first needed. */
import { toast } from "./toast.mjs";

const { createElement: h, useEffect, useState } = window.React;

/**
 * A component in a module that is fetched when it is first shown. Until then, and without a server, nothing stands in its place.
 * @param {() => Promise<object>} fetchModule
 * @param {string} name of the export
 * @param {string|null} [failureText] shown when the module cannot be fetched; the component's `onClose` is called as well
 * @returns {Function & {load: () => Promise<Function|null>}} `load` fetches without showing; null when that failed
 */
export function lazy(fetchModule, name, failureText = null) {
  let part = null;
  let loading = null;

  async function load() {
    loading ??= fetchModule();
    try {
      part = (await loading)[name];
    } catch {
      if (loading !== null && failureText !== null) toast(failureText); // once for all who wait
      loading = null;
    }
    return part;
  }

  function Lazy(props) {
    const [isLoaded, setLoaded] = useState(part !== null);
    useEffect(() => {
      if (!isLoaded) load().then((found) => (found === null ? props.onClose?.() : setLoaded(true)));
    }, []);
    return isLoaded ? h(part, props) : null;
  }
  return Object.assign(Lazy, { load });
}
