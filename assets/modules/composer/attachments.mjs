/** Attach chosen, pasted or dropped files. The code that reads and shows them is fetched with the first file. */
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";

const { useCallback, useEffect, useMemo, useRef, useState } = window.React;

const UNREACHABLE_TEXT = _("The files could not be attached: the server does not answer.");

const readFiles = lazy(() => import("./attachments.lazy.mjs"), "readFiles");

/**
 * @typedef {import("../lib/types.mjs").ChosenFile[]} Files
 * @typedef {{owner: {thread: string|null}, count: number, isTaken: boolean, accepted: {files: Files, problem:
 *   string|null}|null, ended: Promise<void>|null}} Reading  of `count` files that were chosen together, for the field of
 *   `owner`; `isTaken`: their message has left the field; `accepted` is null until they are read
 * @param {string|null} thread of the field at first
 * @returns {{onStray: {current: (files: Files, thread: string|null) => void}, owner: {current: {thread: string|null}},
 *   files: Files, problem: string|null, isReading: boolean, getFiles: () => Files, takeReadings: () => Reading[],
 *   returnReadings: (readings: Reading[]) => void, attach: (list: Iterable<File>) => Promise<Files>,
 *   replaceFiles: (files: Files) => void, prependFiles: (files: Files) => void, removeFiles: (files: Files) => void}} the
 *   files of the unsent message. Each conversation that takes the field is another `owner`; files that were chosen for one
 *   before it are given to `onStray`
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
  const reading = useReading(thread, latest, replaceFiles, setProblem);
  useFileDrop(reading.attach);
  const getFiles = useCallback(() => latest.current, []);
  return { files, problem, getFiles, replaceFiles, prependFiles, removeFiles, ...reading };
}

/** Read chosen files, and add them to those of the message that they were chosen for. */
function useReading(thread, latest, replaceFiles, setProblem) {
  const open = useRef([]);
  const owner = useRef({ thread });
  const onStray = useRef(null);
  const [, render] = useState(0);
  const { listOwn, ...actions } = useMemo(() => {
    const give = (readings) => {
      const files = readings.flatMap(({ accepted }) => accepted.files);
      const { owner: receiver } = readings[0];
      if (receiver !== owner.current) return onStray.current(files, receiver.thread);
      replaceFiles([...latest.current, ...files]);
      setProblem(findProblem(readings));
    };
    const getFiles = () => latest.current;
    return buildReadingActions({ open, owner, give, getFiles, render: () => render((count) => count + 1) });
  }, [replaceFiles]);
  return { ...actions, isReading: listOwn().length > 0, owner, onStray };
}

function buildReadingActions({ open, owner, give, getFiles, render }) {
  const listOwn = () => open.current.filter((reading) => !reading.isTaken && reading.owner === owner.current);
  const attach = async (list) => {
    const chosen = Array.from(list); // a copy: the input and the event clear their lists
    const [attached, earlier] = [getFiles(), listOwn()];
    /** @type {Reading} */
    const reading = { owner: owner.current, count: chosen.length, isTaken: false, accepted: null, ended: null };
    open.current = [...open.current, reading];
    render();
    const read = async () => {
      await Promise.all(earlier.map(({ ended }) => ended)); // their files count in the limits of a message
      reading.accepted = await readChosen(chosen, [...attached, ...earlier.flatMap(({ accepted }) => accepted.files)]);
    };
    reading.ended = read();
    await reading.ended;
    open.current = open.current.filter((other) => other !== reading);
    if (!reading.isTaken) give([reading]);
    render();
    return reading.accepted?.files;
  };
  const takeReadings = () => {
    const taken = listOwn();
    for (const reading of taken) reading.isTaken = true;
    return taken;
  };
  const returnReadings = (readings) => {
    for (const reading of readings) reading.isTaken = false;
    const ended = readings.filter(({ accepted }) => accepted !== null);
    if (ended.length > 0) give(ended);
  };
  return { attach, listOwn, takeReadings, returnReadings };
}

/** @param {Reading[]} readings @returns {string|null} why files were not accepted */
export const findProblem = (readings) =>
  readings.map(({ accepted }) => accepted?.problem).filter(Boolean).join("\n") || null;

async function readChosen(chosen, attached) {
  try {
    const read = await readFiles.load();
    return await read(chosen, attached);
  } catch {
    return { files: [], problem: UNREACHABLE_TEXT };
  }
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
  const { files = [], types = [] } = event.clipboardData ?? {};
  return types.includes("text/plain") ? [] : Array.from(files);
}
