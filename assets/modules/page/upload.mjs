/** Refuse files that are too large to import: Dash's upload ignores them silently, or sends them in vain. */

/** The same limit as in checkpoints/interchange/waymark.py. */
const MAX_IMPORT_BYTES = 10_000_000;

/** Close the toast about the previous file, and refuse a file that is too large. @param {Event} event a file was chosen or dropped */
function refuseLargeFile(event) {
  if (!event.target.closest?.("#upload")) return;
  window.dash_clientside.set_props("toast", { is_open: false });
  const files = event.dataTransfer?.files ?? event.target.files ?? [];
  const large = Array.from(files).find((file) => file.size > MAX_IMPORT_BYTES);
  if (!large) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.type === "change") event.target.value = ""; // else the same file, made smaller, could not be chosen again
  const text = `${large.name} was not imported. The file is larger than ${MAX_IMPORT_BYTES / 1_000_000} MB.`;
  const head = { tick: Date.now() / 1000, toast: { text, kind: "problem", undo: null } };
  window.dash_clientside.set_props("head", { data: head });
}

export function watchUploads() {
  // In the capture phase, before React sees the event.
  for (const type of ["change", "drop"]) document.addEventListener(type, refuseLargeFile, true);
}
