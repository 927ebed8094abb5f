/**
 * Entry of the browser side: joins the components and puts them on `window.waymark`, the only global.
 *
 * The other modules have no effect when imported: only this entry acts. The server joins it with every module that it needs
 * into one file (server/bundle.py).
 */
import { Composer } from "./modules/composer/composer.mjs";
import { Icon } from "./modules/lib/icons.mjs";
import { readPanels } from "./modules/lib/page-requests.mjs";
import { showUpdateToast } from "./modules/lib/toast.mjs";
import { watchExports } from "./modules/page/exporting.mjs";
import { watchFileLinks } from "./modules/page/file-links.mjs";
import { watchKeys } from "./modules/page/keys.mjs";
import { Log, requestLog } from "./modules/page/log.mjs";
import { watchLostFocus } from "./modules/page/lost-focus.mjs";
import { watchRequests } from "./modules/page/request-timeout.mjs";
import { watchSessions } from "./modules/page/sessions.mjs";
import { closeDialog, focusInDialog, navigate, toggleSheet, watchShell } from "./modules/page/shell.mjs";
import { cycleTheme, watchSystemTheme } from "./modules/page/theme.mjs";
import { OutageBanner } from "./modules/page/outage.mjs";
import { watchUploads } from "./modules/page/upload.mjs";
import { Settings } from "./modules/settings/settings.mjs";
import { Threads } from "./modules/threads/threads.mjs";
import { Timeline } from "./modules/timeline/timeline.mjs";
import { Transcript } from "./modules/transcript/transcript.mjs";

const clientside = { cycleTheme, focusInDialog, toggleSheet, navigate, closeDialog, requestLog, readPanels, showUpdateToast };
const parts = { Threads, Transcript, Composer, Timeline, Log, Settings, OutageBanner, Icon, clientside };

if (window.waymark?.provide) {
  window.waymark.provide(parts);
} else {
  // Without early.js (on a test page, for example) the components are put there directly.
  window.waymark = parts;
  window.dash_clientside = Object.assign(window.dash_clientside ?? {}, { waymark: clientside });
}
watchSystemTheme();
watchShell();
watchKeys();
watchUploads();
watchExports();
watchFileLinks();
watchSessions();
watchRequests();
watchLostFocus();
