/** The page's requests: an action of a list, and the reading of all panels. A reply has properties of components to set. */
import { buildApi, buildPath, readThread } from "../browser/addresses.mjs";
import { waitForFirstWord, waitForPaint } from "../browser/first-word.mjs";
import { getProperties, setProperties } from "../browser/properties.mjs";
import { showToastOf } from "../controls/toast.mjs";
import { request, requestPanels } from "../requests/page-request.mjs";
import { keepReply } from "../requests/tracked-request.mjs";
import { chooseThread, getChosenThread, isGoing, reportShown, reportUnread } from "./chosen-thread.mjs";
import { beginMove, endMove, isMove } from "./moves.mjs";
import { changeData, countShown, getData, showData, showReading } from "./shown-panels.mjs";
import { getListSeen } from "./thread-list.mjs";

const TRACKED_ACTIONS = new Set(["send", "stop", "edit", "save", "confirm"]); // repeated where they were asked for
const FIELD = "composer-panel";
// Told of there when they are lost.
const SHOWN_ACTIONS = { [FIELD]: ["send", "stop"], transcript: ["edit", "change"], history: ["save"] };

/**
 * The page as Dash knows it. `shown` is the address of what the panels show, `going` one to which Dash still has to go, and
 * `begun` that of a conversation that has begun and is not shown yet: see `sendAction`.
 * @type {{pathname: string, update: any, window: any, shown: string, going: string|null, begun: string|null}}
 */
const page = {
  pathname: location.pathname, update: null, window: null, shown: location.pathname, going: null, begun: null,
};
let [newestRead, shownRead] = [0, 0];
const openReads = new Set();
let listWishes = 0; // how often the list alone was wanted
let isReadingList = false;
/** @type {any} */ let begunRead = null; // the newest reading that has begun, until Dash calls for it

/**
 * Send an action, and apply its reply. The page goes to a conversation that begins after the first word, because reading
 * every panel would delay that. Until then, actions name its address. Whoever went elsewhere since then stays there.
 * @param {string} list the id of the list
 * @param {import("./types.mjs").Action} action
 * @param {import("./types.mjs").SendOptions} [options] `thread`: the conversation that its list shows;
 *   without one it is that of the page. `retry` repeats the request; offered when it is lost
 * @returns {Promise<boolean>} whether there was a reply
 */
export async function sendAction(list, action, options = {}) {
  if (!isMove(list, action.type)) return (await sendAndApply(list, action, options)) !== null;
  const before = getData("transcript")?.version;
  beginMove();
  const reply = await sendAndApply(list, action, options);
  await waitForPaint(); // until the message field has the new version
  endMove(action.type, reply === null || reply.panels?.transcript?.data.version === before);
  return reply !== null;
}

async function sendAndApply(list, action, /** @type {import("./types.mjs").SendOptions} */ options) {
  const { thread = null, retry = null, tell } = options;
  const { visit } = getChosenThread();
  const sent = { at: performance.now(), pathname: location.pathname, window: page.window, newestRead, visit };
  // Whoever went elsewhere does not see it there.
  const isShown = () => SHOWN_ACTIONS[list]?.includes(action.type) && getChosenThread().visit === visit;
  const reply = await request(
    buildApi(`actions/${list}`),
    { ...describePage(), ...(thread !== null && { pathname: buildPath(thread) }), action },
    { retry: TRACKED_ACTIONS.has(action.type) ? null : retry, isShown, tell },
  );
  if (reply !== null) applyReply(showToastOf(reply), action, sent);
  return reply;
}

async function applyReply({ head, panels, ...others }, action, sent) {
  for (const { reply } of Object.values(others)) if (reply?.request_id) keepReply(reply);
  if (panels && isNewest(panels, sent)) return showPanels(panels, others, head, sent);
  const isBeginning = action.type === "send" && sent.pathname === buildPath(null) && isLeading(head, sent);
  if (isBeginning) {
    page.begun = head.data.go;
    await waitForFirstWord(sent.at); // rendering the reply would delay it
  }
  if (panels && isAhead(panels, sent)) showReading(panels, others);
  else setProperties({ ...others, ...(panels && isHere(panels, sent) && fillField(head.data)) });
  if (isBeginning) return followBegun(head.data.go, sent);
  if (!head) return;
  const { go, ...staying } = head.data;
  if (!isLeading(head, sent)) return setHead(staying);
  if (getData("transcript")?.thread === null) page.begun = go;
  else chooseThread(go);
  setHead(head.data);
}

/** Return whether a reply leads to an address, and the user has not gone elsewhere. */
const isLeading = (head, { visit, pathname }) =>
  Boolean(head?.data.go) && getChosenThread().visit === visit && [pathname, head.data.go].includes(location.pathname);

async function followBegun(address, { at, visit }) {
  await waitForFirstWord(at);
  if (page.begun === address && !isReading(readThread(address))) goToBegun(readThread(address), visit); // else they went on
}

/** Return the field's data with the text that an update fills in: a person may write before the panels are read for it. */
const fillField = ({ fill }) => fill && { [FIELD]: { data: { ...getData(FIELD), fill } } };

/** Set the update of the page, which does not call off an address that Dash has not gone to yet. */
const setHead = (update) => setProperties({ head: { data: { ...(page.going && { go: page.going }), ...update } } });

/** Return whether panels that came with an action are what a reading would show: nothing else was read or shown since. */
const isNewest = (panels, sent) => newestRead === sent.newestRead && isHere(panels, sent) && !isOlder(panels);

/**
 * Return whether panels that came with an action have a change that the page does not show yet, though others are being
 * read. A change is broadcast before its own reply comes: on a busy server, the page asks for the panels meanwhile. Undo
 * must mean the change as soon as its dialog has closed.
 */
const isAhead = (panels, sent) =>
  isHere(panels, sent) && getData("transcript").version < panels.transcript.data.version;

/** Return whether panels that came with an action are of what the page shows now. */
function isHere(panels, sent) {
  const isSame = !isGoing() && page.begun === null && location.pathname === sent.pathname && page.window === sent.window;
  return isSame && getData("transcript")?.thread === panels.transcript.data.thread;
}

/** Return whether panels are from before what the page shows of the same conversation. */
function isOlder(panels) {
  const [shown, read] = [getData("transcript"), panels.transcript?.data];
  return Boolean(read?.thread) && shown?.thread === read.thread && read.version < shown.version;
}

/** Show the panels that came with an action. Dash, which learns of its update later, reads nothing for it. */
function showPanels(panels, others, head, { pathname, window }) {
  newestRead += 1;
  shownRead = newestRead;
  page.update = head.data;
  begunRead = { pathname, update: head.data, window, number: newestRead, reply: Promise.resolve(null) };
  showReading({ ...panels, head }, others);
}

/**
 * Clientside callback: read every panel. A reply that comes after a newer one, or after another address, is dropped.
 * @param {string} pathname
 * @param {{tick?: number}|undefined} update
 * @param {object|undefined} shownWindow the messages that the transcript holds
 */
export async function readPanels(pathname, update, shownWindow) {
  followAddress(pathname);
  if (pathname !== page.pathname) closeDialogs();
  Object.assign(page, { pathname, update: update ?? null, window: shownWindow ?? null });
  const isBegun =
    begunRead !== null &&
    begunRead.pathname === pathname &&
    begunRead.update?.tick === update?.tick &&
    begunRead.window === page.window;
  const begun = isBegun ? begunRead : beginRead(pathname, page.update);
  if (isBegun) begunRead = null;
  const read = await begun.reply;
  if (begun.number < shownRead || pathname !== page.pathname) return;
  if (read === null) return reportUnread(pathname);
  if (!isCurrent(begun, read)) return;
  shownRead = begun.number;
  Object.assign(page, { shown: pathname, begun: null });
  if (getData("transcript")?.thread && !read.transcript?.data.thread) closeDialogs(); // it was deleted elsewhere
  showReading(read);
  await waitForPaint();
  if (page.shown === pathname) reportShown(pathname);
}

/** Return whether nothing newer is shown than a reading, and the page does not go to another address. */
const isCurrent = ({ number, pathname, shown }, read) =>
  number >= shownRead &&
  pathname === (page.going ?? page.pathname) &&
  (shown === countShown() || !isOlder(read)); // else the server has gone back, to a backup: it is right

/** Close the dialogs of what was left, or is gone. A callback of each dialog would run whenever a page begins. */
function closeDialogs() {
  for (const dialog of document.querySelectorAll(".modal.show[aria-labelledby]")) {
    const id = String(dialog.getAttribute("aria-labelledby")).replace(/-title$/, "");
    if (getProperties(id)) setProperties({ [id]: { is_open: false } });
  }
}

/** Follow Dash to an address: where no click has named it, the user went back or forward, or a dialog went on to it. */
function followAddress(pathname) {
  if (page.going === pathname) page.going = null;
  if (page.begun !== pathname) page.begun = null;
  const isKnown =
    pathname === page.shown ||
    page.begun !== null ||
    page.going !== null ||
    readThread(pathname) === getChosenThread().thread;
  if (isKnown) return;
  page.going = null;
  chooseThread(pathname);
}

function beginRead(pathname, update) {
  newestRead += 1;
  const read = { pathname, update, window: page.window, number: newestRead, shown: countShown() };
  openReads.add(read);
  read.reply = requestPanels({ ...describePage(update), pathname }).finally(() => openReads.delete(read));
  return read;
}

/** Go to an address that the user has chosen. @param {string} address */
export function goTo(address) {
  Object.assign(page, { begun: null, going: address });
  chooseThread(address);
  refreshPanels();
}

/**
 * Return whether a conversation is being read: the reply to its first message and the socket both tell that it has begun.
 * @param {string|null} thread
 */
export const isReading = (thread) => [...openReads].some(({ pathname }) => pathname === buildPath(thread));

/**
 * Go to the address of a conversation that has begun, unless the user has gone elsewhere.
 * @param {string|null} thread @param {number} visit at which it began
 */
export function goToBegun(thread, visit) {
  if (visit !== getChosenThread().visit) return;
  Object.assign(page, { begun: buildPath(thread), going: buildPath(thread) });
  refreshPanels();
}

/** Begin to read the panels of the page's address, while Dash begins. */
export const beginPanels = () => void (begunRead = beginRead(location.pathname, null));

/** Go back or forward with the browser. */
export function watchReturns() {
  addEventListener("popstate", () => {
    Object.assign(page, { begun: null, going: null });
    chooseThread(location.pathname);
  });
}

/** Make every panel read again. */
export const refreshPanels = () => setProperties({ head: { data: beginUpdate().update } });

/**
 * Begin to read every panel at once: until Dash calls for it, two frames may pass. The new update keeps the fields that a
 * panel, or Dash, may not have seen yet.
 */
function beginUpdate() {
  const [{ fill, closed }, { going }] = [page.update ?? {}, page];
  const kept = { ...(fill && { fill }), ...(closed && { closed }), ...(going && { go: going }) };
  begunRead = beginRead(going ?? location.pathname, { tick: Date.now() / 1000, ...kept });
  return begunRead;
}

/**
 * Read the list of conversations alone; once more where it was wanted again or a panel has changed meanwhile: the reply may
 * be older.
 */
export async function refreshThreads() {
  listWishes += 1;
  if (isReadingList) return;
  isReadingList = true;
  let isOutdated = true;
  while (isOutdated) {
    const before = describeReads();
    const read = await requestPanels({ ...describePage(), list_only: true });
    isOutdated = read !== null && before !== describeReads();
    if (read !== null && !isOutdated) showData(read);
  }
  isReadingList = false;
}

const describeReads = () => `${listWishes} ${countShown()} ${newestRead}`;

/**
 * Apply what the ends of runs in other conversations change in the list. A reading that is under way may be older.
 * @param {{fields: {running: string[], waiting: string[]}, threads: import("./types.mjs").ThreadItem[]}} change
 */
export function applyListChange({ fields, threads }) {
  const data = getData("threads");
  if (!data) return;
  if (openReads.size > 0) return void refreshThreads();
  const addFirst = (list, row) => changeData(list, { first: { threads: row } });
  showData({ threads: { data: threads.reduce(addFirst, changeData(data, { fields })) } });
}

/**
 * Apply a turn's changes to the panels.
 * @param {{properties: object, data: Record<string, import("./shown-panels.mjs").DataChange>}} turn
 * @returns {boolean} whether that is all. Otherwise the panels have to be read: Dash may not be there yet, and a reading
 *   that is under way may be older than the turn.
 */
export function applyTurn({ properties, data }) {
  if (Object.keys(data).some((id) => !getData(id))) return false;
  const changed = Object.entries(data).map(([id, change]) => [id, { data: changeData(getData(id), change) }]);
  showData({ ...properties, ...Object.fromEntries(changed) });
  if (openReads.size > 0) shownRead = newestRead + 1; // drops what is being read
  return openReads.size === 0;
}

const describePage = (update = page.update) => ({
  pathname: page.begun ?? page.shown,
  update: update && { ...update, toast: undefined },
  window: page.window,
  list_seen: getListSeen(),
});
