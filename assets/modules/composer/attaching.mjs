/** Files that are chosen, pasted or dropped. What reads and shows them is fetched with the first. */
import { lazy } from "../lib/lazy.mjs";

const { useCallback, useEffect, useRef, useState } = window.React;

const NOT_FETCHED = "The files could not be attached: the server does not answer.";

const readFiles = lazy(() => import("./attachments.lazy.mjs"), "readFiles");

/**
 * @returns {{files: import("../lib/types.mjs").ChosenFile[], problem: string|null, isReading: boolean, current: () => import("../lib/types.mjs").ChosenFile[], take: (list: Iterable<File>) => void, set: (files: import("../lib/types.mjs").ChosenFile[]) => void,
 *   put: (files: import("../lib/types.mjs").ChosenFile[]) => void, drop: (files: import("../lib/types.mjs").ChosenFile[]) => void}} the files of the message that is being written
 */
export function useAttaching() {
  const [files, setFiles] = useState([]);
  const [problem, setProblem] = useState(null);
  const [reading, setReading] = useState(0);
  const latest = useRef(files);
  latest.current = files;

  const set = useCallback((next) => {
    latest.current = next;
    setFiles(next);
    setProblem(null);
  }, []);
  const put = useCallback((more) => set([...more, ...latest.current]), [set]);
  const drop = useCallback((gone) => set(latest.current.filter((file) => !gone.includes(file))), [set]);
  const take = useCallback(async (list) => {
    const chosen = Array.from(list); // before the field or the event forgets them
    setReading((number) => number + 1);
    try {
      const read = await readFiles.load();
      const found = await read(chosen, latest.current);
      set([...latest.current, ...found.files]);
      setProblem(found.problem);
    } catch {
      setProblem(NOT_FETCHED);
    } finally {
      setReading((number) => number - 1);
    }
  }, [set]);
  useDropping(take);
  const current = useCallback(() => latest.current, []);
  return { files, problem, isReading: reading > 0, current, take, set, put, drop };
}

/** Files that are dropped anywhere on the conversation. */
function useDropping(take) {
  useEffect(() => {
    const pane = document.querySelector(".pane-chat");
    if (!pane) return undefined;
    // The import button takes what is dropped on it.
    const isOurs = (event) => event.dataTransfer?.types.includes("Files") && !event.target.closest?.("#upload");
    const over = (event) => {
      if (!isOurs(event)) return;
      event.preventDefault();
      pane.toggleAttribute("data-dropping", true);
    };
    const leave = (event) => {
      if (!pane.contains(event.relatedTarget)) pane.removeAttribute("data-dropping");
    };
    const dropped = (event) => {
      pane.removeAttribute("data-dropping");
      if (!isOurs(event)) return;
      event.preventDefault();
      take(event.dataTransfer.files);
    };
    const heard = { dragover: over, dragleave: leave, drop: dropped };
    for (const [type, listener] of Object.entries(heard)) pane.addEventListener(type, listener);
    return () => {
      for (const [type, listener] of Object.entries(heard)) pane.removeEventListener(type, listener);
    };
  }, [take]);
}

/** @param {ClipboardEvent} event a text that comes with a picture of itself (from a spreadsheet, say) is pasted as text */
export function readPastedFiles(event) {
  const { files, types } = event.clipboardData;
  return types.includes("text/plain") ? [] : Array.from(files);
}
