/** Submit the export form without leaving the page: a refusal becomes a toast, and texts to redact stay out of the URL. */
import { showToast } from "../lib/toast.mjs";
import { saveFile } from "./file-links.mjs";

/** @param {Response} answer @returns {string} the name that the server gave the file */
function readFileName(answer) {
  const [, name] = answer.headers.get("content-disposition")?.match(/filename\*=UTF-8''([^;]+)/) ?? [];
  return name ? decodeURIComponent(name) : "conversation";
}

async function fetchExport(form) {
  const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (!answer.ok) throw new Error(await answer.text());
  return { name: readFileName(answer), content: await answer.blob() };
}

async function submitExport(event) {
  if (event.target.id !== "export-form") return;
  event.preventDefault();
  try {
    const { name, content } = await fetchExport(event.target);
    saveFile(name, content);
  } catch (error) {
    showToast(error instanceof TypeError ? "The server did not answer. Nothing was exported." : `Nothing was exported. ${error.message}`);
  }
}

export function watchExports() {
  document.addEventListener("submit", submitExport);
}
