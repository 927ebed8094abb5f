/**
 * The button to import a file. Dash's own upload would send the file inside the JSON of a request, and with each step again.
 */
import { setProperties } from "../browser/properties.mjs";
import { watchClicks } from "../controls/listening.mjs";
import { showToast } from "../controls/toast.mjs";
import { uploadContent, UploadRefusedError } from "../requests/uploads.mjs";
import { _ } from "../words/words.mjs";
import { followRequest } from "./long-request.mjs";

const BUTTON = "#upload";
const FILES = ".json,.zip,application/json,application/zip";
/** The same limits as in checkpoints/values/limits.py, of a document and of an archive. */
const MAX_IMPORT_BYTES = 10_000_000;
const MAX_ARCHIVE_BYTES = 50_000_000;

/** @type {import("./long-request.mjs").Subject} every step of an import */
export const IMPORT = { title: _("Import"), dialog: "#import-dialog", cancel: "#import-dialog-cancel" };

async function importFile(file) {
  setProperties({ toast: { is_open: false } }); // about the previous file
  try {
    const maxBytes = file.name.toLowerCase().endsWith(".zip") ? MAX_ARCHIVE_BYTES : MAX_IMPORT_BYTES;
    if (file.size > maxBytes)
      throw new UploadRefusedError(_("The file is larger than {limit} MB.", { limit: maxBytes / 1_000_000 }));
    const id = await followRequest(IMPORT, (headers, _, signal) => uploadContent("import", file, { headers, signal }));
    setProperties({ "import-file": { data: { id, name: file.name } } });
  } catch (error) {
    showToast(_("{name} was not imported. {error}", { name: file.name, error: describeFailure(error) }));
  }
}

function describeFailure(error) {
  if (error instanceof UploadRefusedError) return error.message;
  return error.name === "AbortError" ? _("It was cancelled.") : _("The file cannot be read, or the server does not answer.");
}

function chooseFile() {
  const chooser = Object.assign(document.createElement("input"), { type: "file", accept: FILES });
  chooser.addEventListener("change", () => chooser.files?.[0] && importFile(chooser.files[0]));
  chooser.click();
}

/** Show that a dragged file is above the button, and import it where it is dropped. */
function onDrag(event) {
  const button = event.target.closest?.(BUTTON);
  if (!button) return;
  event.preventDefault();
  if (event.type === "dragover") button.dataset.dropping = "true";
  else delete button.dataset.dropping;
  if (event.type === "drop" && event.dataTransfer.files[0]) importFile(event.dataTransfer.files[0]);
}

export function watchImports() {
  watchClicks(BUTTON, chooseFile);
  for (const kind of ["dragover", "dragleave", "drop"]) document.addEventListener(kind, onDrag);
}
