/**
 * Exports. The form of one is submitted without leaving the page: a refusal becomes a toast, and texts to redact stay out of
 * the URL. Several conversations are one archive of files.
 */
import { buildApi } from "../browser/addresses.mjs";
import { setProperties } from "../browser/properties.mjs";
import { saveFile } from "../browser/saved-files.mjs";
import { watchClicks } from "../controls/listening.mjs";
import { showToast } from "../controls/toast.mjs";
import { readRefusal } from "../requests/send.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { _ } from "../words/words.mjs";
import { followRequest } from "./long-request.mjs";

const { useState } = window.React;

/** Saves the export about which the person is asked. @type {() => void} */
let saveAsked = () => undefined;

/** @param {Response} answer @returns {string} the name that the server gave the file */
function readFileName(answer) {
  const [, name] = answer.headers.get("content-disposition")?.match(/filename\*=UTF-8''([^;]+)/) ?? [];
  return name ? decodeURIComponent(name) : "conversation";
}

/** Read an answer, and show how much of it has arrived. */
async function readFile(answer, show) {
  const total = Math.ceil(Number(answer.headers.get("content-length")) / 1000);
  const parts = [];
  let bytes = 0;
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts, { type: answer.headers.get("content-type") });
    parts.push(value);
    bytes += value.length;
    show({ phase: _("Downloading"), done: Math.floor(bytes / 1000), total, noun: "kB", detail: "" });
  }
}

async function fetchExport(form) {
  const fields = /** @type {Iterable<[string, string]>} */ (new FormData(form)); // no file is among them
  const body = new URLSearchParams([...fields]);
  return followRequest({ title: _("Export") }, async (headers, show) => {
    const answer = await fetchAsPage(form.action, { method: "POST", body, headers });
    const warning = await readWarning(answer);
    return { name: readFileName(answer), warning, content: await readFile(answer, show) };
  });
}

/** Export several conversations, or all (null), once at a time. */
export function useExport() {
  const [isExporting, setExporting] = useState(false);
  /** @param {string[]|null} threads */
  const startExport = (threads) => {
    if (isExporting) return;
    setExporting(true);
    exportThreads(threads).finally(() => setExporting(false));
  };
  return { isExporting, startExport };
}

async function exportThreads(threads) {
  try {
    const file = await followRequest({ title: _("Export") }, async (headers) => {
      const body = new URLSearchParams(threads?.map((thread) => ["thread", thread]) ?? [["all", "1"]]);
      const answer = await fetchAsPage(buildApi("threads/export"), { method: "POST", body, headers });
      return { warning: await readWarning(answer), content: await answer.blob() };
    });
    saveFile("conversations.zip", file.content);
    if (file.warning) showToast(file.warning);
  } catch (error) {
    showToast(describeFailure(error));
  }
}

/** Return the server's warning about an export. Throws with its reason, if it refused. */
async function readWarning(answer) {
  if (!answer.ok) throw new Error(await readRefusal(answer, ""));
  return decodeURIComponent(answer.headers.get("waymark-warning") ?? "");
}

/** @param {any} error of `fetch`, or with the reason of a refusal */
const describeFailure = (error) =>
  error instanceof TypeError
    ? _("The server did not answer. Nothing was exported.")
    : _("Nothing was exported. {message}", { message: error.message });

async function submitExport(event) {
  if (event.target.id !== "export-form") return;
  event.preventDefault();
  try {
    const { name, warning, content } = await fetchExport(event.target);
    saveAsked = () => saveFile(name, content);
    if (!warning) saveAsked();
    else setProperties({ "export-warning-text": { children: warning }, "export-warning": { is_open: true } });
  } catch (error) {
    showToast(describeFailure(error));
  }
}

export function watchExports() {
  document.addEventListener("submit", submitExport);
  watchClicks("#export-warning-save", () => saveAsked());
}
