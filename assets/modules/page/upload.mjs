/** Upload a file to import. Dash's own upload would send it inside the JSON of a request, and with each step again. */
import { setProperties } from "../lib/properties.mjs";
import { uploadContent, UploadRefusedError } from "../lib/uploads.mjs";
import { followRequest } from "./long-request.mjs";

/** The same limit as in checkpoints/limits.py. */
const MAX_IMPORT_BYTES = 10_000_000;

/** @type {import("./long-request.mjs").Subject} every step of an import */
export const IMPORT = { title: "Import", dialog: "#import-dialog", cancel: "#import-cancel" };

/** Take the file from Dash's upload. @param {Event} event a file was chosen or dropped */
function takeFile(event) {
  if (!event.target.closest?.("#upload")) return;
  const [file] = event.dataTransfer?.files ?? event.target.files ?? [];
  event.preventDefault();
  event.stopPropagation();
  if (event.type === "change") event.target.value = ""; // else the same file could not be chosen again
  else event.target.dispatchEvent(new DragEvent("dragleave", { bubbles: true })); // else the button still waits for a drop
  if (file) importFile(file);
}

async function importFile(file) {
  setProperties({ toast: { is_open: false } }); // about the previous file
  try {
    if (file.size > MAX_IMPORT_BYTES) throw new UploadRefusedError(`The file is larger than ${MAX_IMPORT_BYTES / 1_000_000} MB.`);
    const id = await followRequest(IMPORT, (headers, _, signal) => uploadContent("import", file, { headers, signal }));
    setProperties({ "import-file": { data: { id, name: file.name } } });
  } catch (error) {
    showProblem(`${file.name} was not imported. ${describeFailure(error)}`);
  }
}

function describeFailure(error) {
  if (error instanceof UploadRefusedError) return error.message;
  return error.name === "AbortError" ? "It was cancelled." : "The file cannot be read, or the server does not answer.";
}

function showProblem(text) {
  const head = { tick: Date.now() / 1000, toast: { text, kind: "problem", undo: null } };
  setProperties({ head: { data: head } });
}

export function watchUploads() {
  // In the capture phase, before React sees the event.
  for (const type of ["change", "drop"]) document.addEventListener(type, takeFile, true);
}
