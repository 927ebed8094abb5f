/** Attach chosen, pasted or dropped files. */
import { iconButton } from "../controls/buttons.mjs";
import { icon } from "../controls/icons.mjs";
import { useListener } from "../controls/listening.mjs";
import { formatSize } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { useEffect, useReducer, useState, createElement: h } = window.React;

/**
 * @typedef {import("../state/types.mjs").ChosenFile[]} Files
 * @typedef {{owner: {thread: string|null}, count: number, isTaken: boolean, accepted: {files: Files, problem:
 *   string|null}|null, ended: Promise<void>|null}} Reading  of `count` files that were chosen together, for the field of
 *   `owner`; `isTaken`: their message has left the field; `accepted` is null until they are read
 */

/** The files of the unsent message. Each conversation that takes the field is another `owner`. */
class Attachments {
  /** @type {Files} */
  files = [];
  /** @type {string|null} why others were refused */
  problem = null;
  /** @type {(files: Files, thread: string|null) => void} gets files that were chosen for an owner before this one */
  onStray = () => undefined;
  /** @type {Reading[]} */
  #open = [];
  #render;

  /** @param {string|null} thread @param {() => void} render shows a change */
  constructor(thread, render) {
    this.owner = { thread };
    this.#render = render;
  }

  get isReading() {
    return this.#listOwn().length > 0;
  }

  /** @param {Files} files @param {string|null} [problem] */
  replaceFiles(files, problem = null) {
    Object.assign(this, { files, problem });
    this.#render();
  }

  prependFiles(first) {
    this.replaceFiles([...first, ...this.files]);
  }

  removeFiles(removed) {
    this.replaceFiles(this.files.filter((file) => !removed.includes(file)));
  }

  /** Read chosen files, and add them to those of the message that they were chosen for. @param {Iterable<File>} list */
  async attach(list) {
    const chosen = Array.from(list); // a copy: the input and the event clear their lists
    const [attached, earlier] = [this.files, this.#listOwn()];
    /** @type {Reading} */
    const reading = { owner: this.owner, count: chosen.length, isTaken: false, accepted: null, ended: null };
    this.#open.push(reading);
    this.#render();
    const read = async () => {
      await Promise.all(earlier.map(({ ended }) => ended)); // their files count in the limits of a message
      reading.accepted = await readFiles(chosen, [...attached, ...listAccepted(earlier)]);
    };
    reading.ended = read();
    await reading.ended;
    this.#open.splice(this.#open.indexOf(reading), 1);
    if (!reading.isTaken) this.#give([reading]);
    this.#render();
    return listAccepted([reading]);
  }

  /** Let the message leave with the files that are still being read. */
  takeReadings() {
    const taken = this.#listOwn();
    for (const reading of taken) reading.isTaken = true;
    return taken;
  }

  /** @param {Reading[]} readings */
  returnReadings(readings) {
    for (const reading of readings) reading.isTaken = false;
    const ended = readings.filter(({ accepted }) => accepted !== null);
    if (ended.length > 0) this.#give(ended);
  }

  #listOwn() {
    return this.#open.filter(({ isTaken, owner }) => !isTaken && owner === this.owner);
  }

  #give(readings) {
    const [{ owner }] = readings;
    if (owner !== this.owner) this.onStray(listAccepted(readings), owner.thread);
    else this.replaceFiles([...this.files, ...listAccepted(readings)], findProblem(readings));
  }
}

/** @param {string|null} thread of the field at first */
export function useAttachments(thread) {
  const [, render] = useReducer((count) => count + 1, 0);
  const [attachments] = useState(() => new Attachments(thread, render));
  useFileDrop(attachments);
  return attachments;
}

/** @param {Reading[]} readings that have ended @returns {Files} */
export const listAccepted = (readings) => readings.flatMap(({ accepted }) => accepted?.files ?? []);

/** @param {Reading[]} readings @returns {string|null} why files were not accepted */
export const findProblem = (readings) =>
  readings.map(({ accepted }) => accepted?.problem).filter(Boolean).join("\n") || null;

/** Attach files that are dropped anywhere on the conversation. */
function useFileDrop(attachments) {
  const findPane = ({ target, dataTransfer }) =>
    dataTransfer?.types.includes("Files") ? target.closest?.(".pane-chat") : null;
  useListener(document, "dragover", (event) => {
    const pane = findPane(event);
    pane?.toggleAttribute("data-dropping", true);
    if (pane) event.preventDefault();
  });
  useListener(document, "dragleave", (event) => {
    const pane = findPane(event);
    if (!pane?.contains(event.relatedTarget)) pane?.removeAttribute("data-dropping");
  });
  useListener(document, "drop", (event) => {
    const pane = findPane(event);
    pane?.removeAttribute("data-dropping");
    if (!pane) return;
    event.preventDefault();
    attachments.attach(event.dataTransfer.files);
  });
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
 * @param {Files} attached files that the message has already
 * @returns {Promise<{files: Files, problem: string|null}>} the accepted files, and why each of the others was refused
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
  const byReason = Map.groupBy(refused, ({ reason }) => reason);
  return { files, problem: Array.from(byReason, describeRefused).join("\n") || null };
}

/** Name the files before a reason, unless it names its only one. */
function describeRefused([reason, refused]) {
  const names = refused.map(({ name }) => name);
  return reason.includes(names[0]) ? reason : _("Not attached: {names}. {reason}", { names: names.join(", "), reason });
}

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

/** @param {{files: Files, onRemove: (file: object) => void}} props of the unsent message */
export function Chips({ files, onRemove }) {
  return h(
    "ul",
    { className: "attached-chips", "aria-label": _("Attached files") },
    files.map((file, place) =>
      h(
        "li",
        { key: `${place} ${file.name}`, className: "attached-chip" },
        file.type.startsWith("image/") ? h(Thumbnail, { content: file.content }) : icon("paperclip"),
        h("span", { className: "attached-name", title: file.name }, file.name),
        h("span", { className: "attached-size" }, formatSize(file.size)),
        iconButton("x-lg", _("Remove {name}", { name: file.name }), () => onRemove(file), { title: _("Remove") }),
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
