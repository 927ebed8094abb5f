/** Attach chosen, pasted or dropped files. The code that reads and shows them is fetched with the first file. */
import { lazy } from "../lib/lazy.mjs";

const { useCallback, useEffect, useRef, useState } = window.React;

const NOT_FETCHED = "The files could not be attached: the server does not answer.";

const readFiles = lazy(() => import("./attachments.lazy.mjs"), "readFiles");

/**
 * @returns {{files: import("../lib/types.mjs").ChosenFile[], problem: string|null, isReading: boolean, current: () => import("../lib/types.mjs").ChosenFile[], take: (list: Iterable<File>) => void, set: (files: import("../lib/types.mjs").ChosenFile[]) => void,
 *   put: (files: import("../lib/types.mjs").ChosenFile[]) => void, drop: (files: import("../lib/types.mjs").ChosenFile[]) => void}} the files of the unsent message
 */
export function useAttachments() {
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
    const chosen = Array.from(list); // a copy: the input and the event clear their lists
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
  useFileDrop(take);
  const current = useCallback(() => latest.current, []);
  return { files, problem, isReading: reading > 0, current, take, set, put, drop };
}

/** Attach files that are dropped anywhere on the conversation. */
function useFileDrop(take) {
  useEffect(() => {
    const pane = document.querySelector(".pane-chat");
    if (!pane) return undefined;
    // The import button handles files dropped on itself.
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

/** Return the pasted files. Text that comes with a picture of itself, as from a spreadsheet, is pasted as text. @param {ClipboardEvent} event */
export function readPastedFiles(event) {
  const { files, types } = event.clipboardData;
  return types.includes("text/plain") ? [] : Array.from(files);
}
