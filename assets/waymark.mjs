/**
 * Entry of the browser side: joins the components and puts them on `window.waymark`, the only global.
 *
 * The other modules have no effect when imported: only this entry acts. The server joins it with every module that it needs
 * into one file (server/static_files.py).
 */
import { Composer } from "./modules/composer/composer.mjs";
import { Icon } from "./modules/controls/icons.mjs";
import { watchFieldDirections } from "./modules/words/direction.mjs";
import { Markup } from "./modules/controls/markup.mjs";
import { beginPanels, readPanels, watchReturns } from "./modules/state/panels.mjs";
import { watchPerson } from "./modules/requests/session.mjs";
import { Time } from "./modules/words/clock.mjs";
import { markToast, showUpdateToast, watchToast } from "./modules/controls/toast.mjs";
import { Message } from "./modules/message/read-only-message.mjs";
import { watchFormulaCopies } from "./modules/controls/copying.mjs";
import { watchExports } from "./modules/page/exporting.mjs";
import { watchFileLinks } from "./modules/page/file-links.mjs";
import { watchFrame, authorizeDash, watchRequests } from "./modules/page/frame.mjs";
import { watchHeldPresses, watchUndo } from "./modules/page/undoing.mjs";
import { watchInputMethods, watchKeys } from "./modules/page/keys.mjs";
import { Log } from "./modules/page/log.mjs";
import { watchLostFocus } from "./modules/page/lost-focus.mjs";
import { watchConfirmations, clearFields, closeDialog, navigate, openDialog, readAgain, showDialog, isUnconfirmed,
  watchNetworkReturn, watchRepeatedPresses } from "./modules/page/callbacks.mjs";
import { watchSignOut, watchVersion } from "./modules/page/leaving.mjs";
import { watchBarMenu } from "./modules/page/bar-menu.mjs";
import { closeSheets, leaveSheets, watchPanes } from "./modules/page/panes.mjs";
import { actOnCompared, appendDraft, choosePlaces } from "./modules/dialogs/places.mjs";
import { PromptVariables, insertPromptOfRow, readPrompts } from "./modules/dialogs/prompts.mjs";
import { showLink } from "./modules/dialogs/sharing.mjs";
import { Palette } from "./modules/page/palette.mjs";
import { followOutage } from "./modules/page/outage.mjs";
import { watchPlaceOfAddress } from "./modules/state/show-message.mjs";
import { watchImports } from "./modules/page/upload.mjs";
import { chooseOptions, cycleTheme, showOptions } from "./modules/settings/browser-options.mjs";
import { forgetConnection } from "./modules/settings/connecting.mjs";
import { noteChoice } from "./modules/settings/settings.mjs";
import { showTag } from "./modules/threads/tags.mjs";
import { Threads } from "./modules/threads/threads.mjs";
import { History } from "./modules/history/history.mjs";
import { Transcript } from "./modules/transcript/transcript.mjs";

// What Dash calls: components of components/widgets.py, and clientside callbacks.
const components = {
  Transcript, Composer, Threads, History, Palette, PromptVariables, Log, Icon, Time, Markup, Message,
};
const clientside = {
  actOnCompared,
  appendDraft,
  watchFrame,
  choosePlaces,
  cycleTheme,
  isUnconfirmed,
  navigate,
  clearFields,
  forgetConnection,
  closeDialog,
  showDialog,
  closeSheets,
  openDialog,
  showLink,
  insertPromptOfRow,
  noteChoice,
  showOptions,
  chooseOptions,
  showTag,
  leaveSheets,
  readAgain,
  readPanels,
  readPrompts,
  followOutage,
  showUpdateToast,
  markToast,
};

window.waymark = { ...window.waymark, ...components, authorizeDash };
window.dash_clientside = { ...window.dash_clientside, waymark: clientside };
watchInputMethods();
watchPanes();
watchBarMenu();
watchKeys();
watchToast();
watchExports();
watchImports();
watchFileLinks();
watchPerson();
watchSignOut();
watchNetworkReturn();
watchRepeatedPresses();
watchRequests();
watchLostFocus();
watchFieldDirections();
watchUndo();
watchConfirmations();
watchHeldPresses();
watchFormulaCopies();
watchReturns();
watchVersion();
watchPlaceOfAddress();
beginPanels();
