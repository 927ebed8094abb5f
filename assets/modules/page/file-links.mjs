/** Open links to files and texts of messages: the browser alone could not add the page's key to the request. */
import { FILE_LINKS } from "../browser/addresses.mjs";
import { saveFile } from "../browser/saved-files.mjs";
import { showToast } from "../controls/toast.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { _ } from "../words/words.mjs";

/**
 * Fetch the link's content, and save it or show it in a tab. The tab is opened at once: later it would be a blocked popup.
 */
async function openLink(link) {
  const tab = link.download ? null : window.open("", "_blank");
  try {
    const reply = await fetchAsPage(link.href);
    if (!reply.ok) throw new Error(reply.statusText);
    const content = await reply.blob();
    if (tab === null) saveFile(link.download || "file", content);
    else tab.location.replace(URL.createObjectURL(content)); // kept as long as this page: its tab may be reloaded
  } catch {
    tab?.close();
    showToast(_("This cannot be read right now."));
  }
}

function followLink(event) {
  const link = event.target.closest?.(FILE_LINKS);
  if (!link || event.button > 1) return;
  event.preventDefault();
  openLink(link);
}

export function watchFileLinks() {
  document.addEventListener("click", followLink);
  document.addEventListener("auxclick", followLink);
}
