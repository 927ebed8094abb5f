/** Attach chosen, pasted or dropped files. The code that reads and shows them is fetched with the first file. */
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";

const { useCallback, useEffect, useRef, useState } = window.React;

const UNREACHABLE_TEXT = _("The files could not be attached: the server does not answer.");

const readFiles = lazy(() => import("./attachments.lazy.mjs"), "readFiles");

/**
 * @typedef {import("../lib/types.mjs").ChosenFile[]} Files
 * @param {string|null} thread of the field: files that were chosen before it came are given to `onStray`
 * @returns {{onStray: {current: (files: Files, thread: string|null) => void}, files: Files, problem: string|null,
 *   isReading: boolean, getFiles: () => Files,
 *   attach: (list: Iterable<File>) => Promise<Files>, replaceFiles: (files: Files) => void, prependFiles: (files: Files) =>
 *   void, removeFiles: (files: Files) => void}} the files of the unsent message
 */
export function useAttachments(thread) {
  const [files, setFiles] = useState([]);
  const [problem, setProblem] = useState(null);
  const latest = useRef(files);
  latest.current = files;

  const replaceFiles = useCallback((next) => {
    latest.current = next;
    setFiles(next);
    setProblem(null);
  }, []);
  const prependFiles = useCallback((first) => replaceFiles([...first, ...latest.current]), [replaceFiles]);
  const removeFiles = useCallback(
    (removed) => replaceFiles(latest.current.filter((file) => !removed.includes(file))),
    [replaceFiles],
  );
  const { attach, isReading, onStray } = useReading(thread, latest, replaceFiles, setProblem);
  useFileDrop(attach);
  const getFiles = useCallback(() => latest.current, []);
  return { onStray, files, problem, isReading, getFiles, attach, replaceFiles, prependFiles, removeFiles };
}

/** Read chosen files, and add them to those of the field. Another conversation may have taken it meanwhile. */
function useReading(thread, latest, replaceFiles, setProblem) {
  const [reading, setReading] = useState(0);
  const shownThread = useRef(thread);
  const onStray = useRef(null);
  shownThread.current = thread;
  const attach = useCallback(
    async (list) => {
      const chosen = Array.from(list); // a copy: the input and the event clear their lists
      const from = shownThread.current;
      setReading((number) => number + 1);
      try {
        const read = await readFiles.load();
        const accepted = await read(chosen, latest.current);
        if (shownThread.current !== from) return onStray.current(accepted.files, from), [];
        replaceFiles([...latest.current, ...accepted.files]);
        setProblem(accepted.problem);
        return accepted.files;
      } catch {
        setProblem(UNREACHABLE_TEXT);
        return [];
      } finally {
        setReading((number) => number - 1);
      }
    },
    [replaceFiles],
  );
  return { attach, isReading: reading > 0, onStray };
}

/** Attach files that are dropped anywhere on the conversation. */
function useFileDrop(attach) {
  useEffect(() => {
    const pane = document.querySelector(".pane-chat");
    if (!pane) return undefined;
    // The import button handles files dropped on itself.
    const isOurs = (event) => event.dataTransfer?.types.includes("Files") && !event.target.closest?.("#upload");
    const onDragOver = (event) => {
      if (!isOurs(event)) return;
      event.preventDefault();
      pane.toggleAttribute("data-dropping", true);
    };
    const onDragLeave = (event) => {
      if (!pane.contains(event.relatedTarget)) pane.removeAttribute("data-dropping");
    };
    const onDrop = (event) => {
      pane.removeAttribute("data-dropping");
      if (!isOurs(event)) return;
      event.preventDefault();
      attach(event.dataTransfer.files);
    };
    const listeners = { dragover: onDragOver, dragleave: onDragLeave, drop: onDrop };
    for (const [type, listener] of Object.entries(listeners)) pane.addEventListener(type, listener);
    return () => {
      for (const [type, listener] of Object.entries(listeners)) pane.removeEventListener(type, listener);
    };
  }, [attach]);
}

/**
 * Return the pasted files. Text that comes with a picture of itself, as from a spreadsheet, is pasted as text.
 * @param {ClipboardEvent} event
 */
export function readPastedFiles(event) {
  const { files, types } = event.clipboardData;
  return types.includes("text/plain") ? [] : Array.from(files);
}
