/** Attached files: read and looked at before they are sent, and shown in the composer and in messages. */
import { icon } from "../icons.mjs";
import { style } from "./style.mjs";

const { createElement: h, useState } = window.React;

/** The limits of checkpoints/files.py, which has the last word. */
const MOST = 5;
const MOST_BYTES = 10_000_000;
const LARGEST = { image: 5_000_000, pdf: 5_000_000, text: 1_000_000 };
const NOUNS = { image: "an image", pdf: "a PDF", text: "a text" };
const BEGINNINGS = [
  ["image/png", "image", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", "image", /^\xff\xd8\xff/],
  ["image/gif", "image", /^GIF8[79]a/],
  ["image/webp", "image", /^RIFF[^]{4}WEBP/],
  ["application/pdf", "pdf", /^%PDF-/],
];

style("attachments.css");

/**
 * @param {File[]} chosen
 * @param {import("../attaching.mjs").Taken[]} held what is attached already
 * @returns {Promise<{files: import("../attaching.mjs").Taken[], problem: string|null}>} what can be attached, and why the first of the others cannot
 */
export async function read(chosen, held) {
  const files = [];
  let problem = null;
  for (const file of chosen) {
    const all = [...held, ...files];
    const refused = await refusal(file, all);
    if (refused !== null) problem ??= refused;
    else files.push({ name: file.name, type: (await kind(file)).type, size: file.size, data: await base64(file) });
  }
  return { files, problem };
}

async function refusal(file, held) {
  const mine = await kind(file);
  if (held.length >= MOST) return `A message takes at most ${MOST} files.`;
  if (file.size === 0) return `${file.name} is empty.`;
  if (file.size > LARGEST[mine.kind]) return `${file.name} is larger than ${LARGEST[mine.kind] / 1_000_000} MB, the most for ${NOUNS[mine.kind]}.`;
  if (mine.kind === "text" && !(await isText(file))) return `${file.name} is neither an image (PNG, JPEG, WebP, GIF) nor a PDF nor text in UTF-8.`;
  const together = held.reduce((sum, { size }) => sum + size, file.size);
  return together > MOST_BYTES ? `The files of one message may have ${MOST_BYTES / 1_000_000} MB together.` : null;
}

/** By its first bytes: its name may say anything. */
async function kind(file) {
  const bytes = new Uint8Array(await file.slice(0, 16).arrayBuffer());
  const found = BEGINNINGS.find(([, , beginning]) => beginning.test(String.fromCharCode(...bytes)));
  return found ? { type: found[0], kind: found[1] } : { type: "text/plain", kind: "text" };
}

async function isText(file) {
  try {
    // eslint-disable-next-line no-control-regex
    return !/[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f]/.test(new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer()));
  } catch {
    return false;
  }
}

const base64 = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

/** @param {number} bytes @returns {string} "850 B", "12 kB", "3.4 MB" */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 999_500 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** @param {{files: import("../attaching.mjs").Taken[], onRemove: (file: object) => void}} props what is to be sent with the message */
export function Chips({ files, onRemove }) {
  return h(
    "ul",
    { className: "attached-chips", "aria-label": "Attached files" },
    files.map((file, place) =>
      h(
        "li",
        { key: `${place} ${file.name}`, className: "attached-chip" },
        file.type.startsWith("image/")
          ? h("img", { src: `data:${file.type};base64,${file.data}`, alt: "" })
          : icon("paperclip"),
        h("span", { className: "attached-name", title: file.name }, file.name),
        h("span", { className: "attached-size" }, size(file.size)),
        h(
          "button",
          { type: "button", className: "icon-button", "aria-label": `Remove ${file.name}`, title: "Remove", onClick: () => onRemove(file) },
          icon("x-lg"),
        ),
      ),
    ),
  );
}

/** @param {{files: {kind: "image"|"file", name: string, size: number, address: string}[]}} props what was sent with a message */
export function Attached({ files }) {
  return h(
    "ul",
    { className: "attached", "aria-label": "Attached files" },
    files.map((file) => h("li", { key: file.address }, file.kind === "image" ? h(Picture, { file }) : h(Download, { file }))),
  );
}

function Picture({ file }) {
  const [isLost, setLost] = useState(false);
  if (isLost) return h("span", { className: "attached-chip attached-lost" }, icon("exclamation-triangle"), `${file.name} is damaged and is not shown.`);
  return h(
    "button",
    { type: "button", className: "attached-picture", "aria-label": `Open ${file.name}`, title: `${file.name} · ${size(file.size)}`, onClick: () => enlarge(file) },
    h("img", { src: file.address, alt: file.name, loading: "lazy", onError: () => setLost(true) }),
  );
}

function Download({ file }) {
  return h(
    "a",
    { className: "attached-chip", href: file.address, download: file.name },
    icon("paperclip"),
    h("span", { className: "attached-name", title: file.name }, file.name),
    h("span", { className: "attached-size" }, size(file.size)),
  );
}

/** A dialog of the browser's own: Escape closes it, and the focus goes back to where it was. */
function enlarge(file) {
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const dialog = make("dialog", { className: "attached-large", ariaLabel: file.name });
  const close = make("button", { type: "button", className: "btn btn-secondary", textContent: "Close", onclick: () => dialog.close() });
  const keep = make("a", { href: file.address, download: file.name, className: "btn btn-primary", textContent: "Download" });
  const name = make("p", { textContent: `${file.name} · ${size(file.size)}` });
  dialog.append(make("img", { src: file.address, alt: file.name }), make("div", { className: "attached-bar" }, name, keep, close));
  dialog.onclick = (event) => event.target === dialog && dialog.close(); // beside the picture
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}
