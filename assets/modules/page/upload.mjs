/**
 * The button to import a file. Dash's own upload would send the file inside the JSON of a request, and with each step again.
 */
import { setProperties } from "../browser/properties.mjs";
import { icon } from "../controls/icons.mjs";
import { showToast } from "../controls/toast.mjs";
import { uploadContent, UploadRefusedError } from "../requests/uploads.mjs";
import { _ } from "../words/words.mjs";
import { followRequest } from "./long-request.mjs";

const { createElement: h, useRef, useState } = window.React;

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

/**
 * Choose a file, or drop one on the button.
 * @param {{id: string, data?: {hidden: boolean}}} props `hidden`: to who may only read
 */
export function ImportButton({ id, data }) {
  const chooser = useRef(null);
  const [isOver, setOver] = useState(false);
  /** @param {File[]} files */
  const take = ([file]) => file && importFile(file);
  const onChange = ({ target }) => {
    take(Array.from(target.files));
    target.value = ""; // else the same file could not be chosen again
  };
  const onDragOver = (event) => {
    event.preventDefault();
    setOver(true);
  };
  const onDrop = (event) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  const name = { "aria-label": _("Import"), title: _("Import a conversation") };
  return h(
    "div",
    { id, hidden: data?.hidden, onDragOver, onDragLeave: () => setOver(false), onDrop },
    h(
      "button",
      {
        type: "button", className: "menu-item", ...name, "data-dropping": isOver || undefined,
        onClick: () => chooser.current.click(),
      },
      icon("upload"),
      h("span", null, _("Import")),
    ),
    h("input", {
      type: "file",
      accept: ".json,.zip,application/json,application/zip",
      hidden: true,
      ref: chooser,
      onChange,
    }),
  );
}
