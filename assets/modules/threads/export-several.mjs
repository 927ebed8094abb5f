/** The export of several conversations, or of all, as one archive of files. */
import { buildApi } from "../browser/addresses.mjs";
import { showToast } from "../controls/toast.mjs";
import { describeExportFailure, readWarning } from "../page/exporting.mjs";
import { saveFile } from "../page/file-links.mjs";
import { followRequest } from "../page/long-request.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { _ } from "../words/words.mjs";

const { useEffect } = window.React;

/** @param {{threads: string[]|null, onClose: () => void}} props null: all conversations */
export function ExportSeveral({ threads, onClose }) {
  useEffect(() => {
    exportThreads(threads).finally(onClose);
  }, []);
  return null;
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
    showToast(describeExportFailure(error));
  }
}
