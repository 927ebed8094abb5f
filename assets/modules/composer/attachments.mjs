/** Attach chosen, pasted or dropped files. */
import { icon } from "../controls/icons.mjs";
import { formatSize } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { useCallback, useEffect, useMemo, useRef, useState, createElement: h } = window.React;

/**
 * @typedef {import("../state/types.mjs").ChosenFile[]} Files
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
      reading.accepted = await readFiles(chosen, [...attached, ...earlier.flatMap(({ accepted }) => accepted.files)]);
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

/** The limits of checkpoints/values/limits.py, which the server enforces. */
const MAX_FILES = 5;
const MAX_MESSAGE_BYTES = 10_000_000;
const MAX_KIND_BYTES = { image: 5_000_000, pdf: 5_000_000, text: 1_000_000 };
const KIND_NAMES = { image: _("an image"), pdf: _("a PDF"), text: _("a text") };
/** @type {[string, string, RegExp][]} */
const SIGNATURES = [
  // oxlint-disable-next-line no-control-regex -- PNG files begin so
  ["image/png", "image", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", "image", /^\xff\xd8\xff/],
  ["image/gif", "image", /^GIF8[79]a/],
  ["image/webp", "image", /^RIFF[^]{4}WEBP/],
  ["application/pdf", "pdf", /^%PDF-/],
];

/**
 * @param {File[]} chosen
 * @param {import("../state/types.mjs").ChosenFile[]} attached files that the message has already
 * @returns {Promise<{files: import("../state/types.mjs").ChosenFile[], problem: string|null}>} the accepted files, and why
 *   each of the others was refused
 */
async function readFiles(chosen, attached) {
  const files = [];
  const refused = [];
  for (const file of chosen) {
    try {
      const reason = await checkFile(file, [...attached, ...files]);
      if (reason !== null) refused.push({ name: file.name, reason });
      else files.push(await copyFile(file));
    } catch {
      const reason = _("{name} could not be read.", { name: file.name }); // a folder, or deleted since it was chosen
      refused.push({ name: file.name, reason });
    }
  }
  return { files, problem: refused.length === 0 ? null : describeRefused(refused) };
}

/** @param {{name: string, reason: string}[]} refused @returns {string} a line for each reason */
function describeRefused(refused) {
  const names = new Map();
  for (const { name, reason } of refused) names.set(reason, [...(names.get(reason) ?? []), name]);
  return [...names].map(([reason, named]) => nameRefused(named, reason)).join("\n");
}

/** Name the files before a reason, unless it names its only one. */
const nameRefused = (names, reason) =>
  reason.includes(names[0])
    ? reason
    : _("Not attached: {names}. {reason}", { names: names.join(", "), reason });

/** Copy a file, which may change until it is sent. */
const copyFile = async (file) => ({
  name: file.name,
  type: (await detectKind(file)).type,
  size: file.size,
  content: new Blob([await file.arrayBuffer()], { type: file.type }),
});

async function checkFile(file, attached) {
  const detected = await detectKind(file);
  if (attached.length >= MAX_FILES) return _("A message takes at most {limit} files.", { limit: MAX_FILES });
  if (file.size === 0) return _("{name} is empty.", { name: file.name });
  if (file.size > MAX_KIND_BYTES[detected.kind])
    return _("{name} is larger than {limit} MB, the most for {kind}.", {
      name: file.name,
      limit: MAX_KIND_BYTES[detected.kind] / 1_000_000,
      kind: KIND_NAMES[detected.kind],
    });
  if (detected.kind === "text" && !(await isText(file)))
    return _("{name} is neither an image (PNG, JPEG, WebP, GIF) nor a PDF nor text in UTF-8.", { name: file.name });
  const totalBytes = attached.reduce((sum, { size }) => sum + size, file.size);
  return totalBytes > MAX_MESSAGE_BYTES
    ? _("The files of one message may have {limit} MB together.", { limit: MAX_MESSAGE_BYTES / 1_000_000 })
    : null;
}

/** Detect the type by the first bytes: a file name proves nothing. */
async function detectKind(file) {
  const bytes = new Uint8Array(await file.slice(0, 16).arrayBuffer());
  const signature = SIGNATURES.find(([, , beginning]) => beginning.test(String.fromCharCode(...bytes)));
  return signature ? { type: signature[0], kind: signature[1] } : { type: "text/plain", kind: "text" };
}

async function isText(file) {
  try {
    // eslint-disable-next-line no-control-regex
    return !/[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f]/.test(
      new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()),
    );
  } catch {
    return false;
  }
}

/**
 * @param {{files: import("../state/types.mjs").ChosenFile[], onRemove: (file: object) => void}} props files of the unsent
 *   message
 */
export function Chips({ files, onRemove }) {
  return h(
    "ul",
    { className: "attached-chips", "aria-label": _("Attached files") },
    files.map((file, place) =>
      h(
        "li",
        { key: `${place} ${file.name}`, className: "attached-chip" },
        file.type.startsWith("image/")
          ? h(Thumbnail, { content: file.content })
          : icon("paperclip"),
        h("span", { className: "attached-name", title: file.name }, file.name),
        h("span", { className: "attached-size" }, formatSize(file.size)),
        h(
          "button",
          {
            type: "button", className: "icon-button", "aria-label": _("Remove {name}", { name: file.name }),
            title: _("Remove"), onClick: () => onRemove(file),
          },
          icon("x-lg"),
        ),
      ),
    ),
  );
}

/** @param {{content: Blob}} props */
function Thumbnail({ content }) {
  const [source, setSource] = useState(undefined);
  useEffect(() => {
    const address = URL.createObjectURL(content);
    setSource(address);
    return () => URL.revokeObjectURL(address);
  }, [content]);
  return h("img", { src: source, alt: "" });
}
