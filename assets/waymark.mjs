/**
 * The entry of the browser side: joins the components and puts them on `window.waymark`, our only global.
 *
 * The other modules have no effect when imported. That matters: Dash may load each of them a second time under
 * another address (`?m=...`), and only this entry may act.
 */
import { wish } from "./modules/branches.mjs";
import { Composer } from "./modules/composer.mjs";
import { watchExports } from "./modules/exporting.mjs";
import { Icon } from "./modules/icons.mjs";
import { watchKeys } from "./modules/keys.mjs";
import { Log, logWanted } from "./modules/log.mjs";
import { Settings } from "./modules/settings.mjs";
import { close, focus, go, pane, watchShell } from "./modules/shell.mjs";
import { theme, watchSystemTheme } from "./modules/theme.mjs";
import { Threads } from "./modules/threads.mjs";
import { Timeline } from "./modules/timeline.mjs";
import { Transcript } from "./modules/transcript.mjs";
import { Trouble } from "./modules/trouble.mjs";
import { watchAnswers } from "./modules/unanswered.mjs";
import { watchUploads } from "./modules/upload.mjs";

const clientside = { theme, focus, pane, go, close, wish, logWanted };
const parts = { Threads, Transcript, Composer, Timeline, Log, Settings, Trouble, Icon, clientside };

if (window.waymark?.provide) {
  window.waymark.provide(parts);
} else {
  // Without early.js (a test page, say) the components stand there directly.
  window.waymark = parts;
  window.dash_clientside = Object.assign(window.dash_clientside ?? {}, { waymark: clientside });
}
watchSystemTheme();
watchShell();
watchKeys();
watchUploads();
watchExports();
watchAnswers();
