/** Read and check files before they are sent, and show them above the field. */
import { formatSize } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useEffect, useState } = window.React;

loadStyle(new URL("../message/attachments.lazy.css", import.meta.url));

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
 * @param {import("../lib/types.mjs").ChosenFile[]} attached files that the message has already
 * @returns {Promise<{files: import("../lib/types.mjs").ChosenFile[], problem: string|null}>} the accepted files, and why
 *   each of the others was refused
 */
export async function readFiles(chosen, attached) {
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
 * @param {{files: import("../lib/types.mjs").ChosenFile[], onRemove: (file: object) => void}} props files of the unsent
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
