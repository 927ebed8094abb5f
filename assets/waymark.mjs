/**
 * Entry of the browser side: joins the components and puts them on `window.waymark`, the only global.
 *
 * The other modules have no effect when imported: only this entry acts. The server joins it with every module that it needs
 * into one file (server/static_files.py).
 */
import { Composer } from "./modules/composer/composer.mjs";
import { Icon } from "./modules/lib/icons.mjs";
import { readPanels, watchReturns } from "./modules/lib/panels.mjs";
import { markToast, showUpdateToast } from "./modules/lib/toast.mjs";
import { watchFormulaCopies } from "./modules/message/formula-copy.mjs";
import { watchAudit } from "./modules/dialogs/auditing.mjs";
import { watchExports } from "./modules/page/exporting.mjs";
import { watchFileLinks } from "./modules/page/file-links.mjs";
import { showFirstPage } from "./modules/page/first-page.mjs";
import { watchHeldPresses } from "./modules/page/held-presses.mjs";
import { watchKeys } from "./modules/page/keys.mjs";
import { Log, requestLog } from "./modules/page/log.mjs";
import { watchLostFocus } from "./modules/page/lost-focus.mjs";
import { watchConfirmations } from "./modules/page/confirmations.mjs";
import { watchRequests } from "./modules/page/watched-callbacks.mjs";
import { inOwnRoot } from "./modules/page/roots.mjs";
import { watchSessions } from "./modules/dialogs/sessions.mjs";
import { BranchChip } from "./modules/page/branch-chip.mjs";
import { watchBarMenu } from "./modules/page/bar-menu.mjs";
import { closeDialog, focusInDialog, navigate } from "./modules/page/dialog-callbacks.mjs";
import { PaneButton } from "./modules/page/pane-button.mjs";
import { watchVersion } from "./modules/page/new-version.mjs";
import { watchPeople } from "./modules/dialogs/people.mjs";
import { watchPaneEdges } from "./modules/page/pane-edges.mjs";
import { watchPanes } from "./modules/page/panes.mjs";
import { watchRegions } from "./modules/page/regions.mjs";
import { watchSharing } from "./modules/dialogs/sharing.mjs";
import { Slot } from "./modules/page/slot.mjs";
import { cycleTheme, watchSystemTheme } from "./modules/page/theme.mjs";
import { OutageBanner } from "./modules/page/outage.mjs";
import { watchPlaceOfAddress } from "./modules/page/place-links.mjs";
import { watchUndo } from "./modules/page/undoing.mjs";
import { ImportButton } from "./modules/page/upload.mjs";
import { SettingsButton } from "./modules/settings/settings.mjs";
import { Threads } from "./modules/threads/threads.mjs";
import { History } from "./modules/history/history.mjs";
import { Transcript } from "./modules/transcript/transcript.mjs";
import { watchUsage } from "./modules/dialogs/usage.mjs";

// The list of what Dash calls: components of components/widgets.py, and clientside callbacks. The stand-ins follow from it.
const conversation = { Transcript, Composer };
const others = { Threads, History };
const parts = { Log, SettingsButton, OutageBanner, Icon, ImportButton, PaneButton, BranchChip, Slot };
const clientside = {
  cycleTheme,
  focusInDialog,
  navigate,
  closeDialog,
  requestLog,
  readPanels,
  showUpdateToast,
  markToast,
};
const forwarders = Object.entries({ ...conversation, ...others }).map(([name, Panel]) => [name, inOwnRoot(name, Panel)]);

window.waymark.provide({ ...Object.fromEntries(forwarders), ...parts, clientside });
watchSystemTheme();
watchPanes();
watchPaneEdges();
watchRegions();
watchBarMenu();
watchKeys();
watchExports();
watchFileLinks();
watchSessions();
watchPeople();
watchSharing();
watchAudit();
watchUsage();
watchRequests();
watchLostFocus();
watchUndo();
watchConfirmations();
watchHeldPresses();
watchFormulaCopies();
watchReturns();
watchVersion();
watchPlaceOfAddress();
showFirstPage(conversation, others);
