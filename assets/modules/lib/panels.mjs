/** The page's requests: an action of a list, and the reading of all panels. A reply has properties of components to set. */
import { changeData } from "./data-changes.mjs";
import { afterFirstWord } from "./first-word.mjs";
import { TOO_LONG, watchReply } from "./late-reply.mjs";
import { waitForPaint } from "./painting.mjs";
import { getProperties, setProperties } from "./properties.mjs";
import { send } from "./send.mjs";
import { getListSeen } from "./thread-list.mjs";
import { showToast } from "./toast.mjs";
import { reportLostRequest } from "./tracked-request.mjs";
import { _ } from "./words.mjs";

const TRACKED_ACTIONS = new Set(["send", "stop", "edit", "save", "confirm"]); // repeated where they were asked for
const SHOWN_ACTIONS = new Set(["stop"]); // whose lost request is told where they were asked for: no notice says it again
const CONVERSATION = new Set(["transcript", "composer-panel", "undo-state"]); // what a person acts on
const NOT_DONE_TEXT = _("That did not work. Reload the page and try again.");

/**
 * The page as Dash knows it. `begun` is the address of a conversation that has begun and is not shown yet: see `sendAction`.
 */
const page = { pathname: location.pathname, update: null, window: null, begun: null };
let newestRead = 0;
let shownRead = 0;
let openReads = 0;
let shownChanges = 0; // of the panels' data
let begunRead = null; // that of the newest `refreshPanels`, until Dash calls for it
let waiting = null; // properties that are shown after the paint of the conversation
let visits = 0; // addresses that the user has gone to

/**
 * Send an action, and apply its reply. The page goes to a conversation that begins after the first word, because reading
 * every panel would delay that. Until then, actions name its address. Whoever went elsewhere since then stays there.
 * @param {string} list the id of the list
 * @param {object} action
 * @param {(() => void)|null} [retry] repeats the request; offered when it is lost
 * @returns {Promise<boolean>} whether there was a reply
 */
export async function sendAction(list, action, retry = null) {
  const sent = { pathname: location.pathname, window: page.window, newestRead, visits };
  const reply = await request(
    `/api/actions/${list}`,
    { ...describePage(), action },
    { retry: TRACKED_ACTIONS.has(action.type) ? null : retry, isShown: SHOWN_ACTIONS.has(action.type) },
  );
  if (reply !== null) applyReply(reply, action, sent);
  return reply !== null;
}

function applyReply({ head, panels, ...others }, action, sent) {
  if (panels && isNewest(panels, sent)) return showPanels(panels, others, head, sent);
  if (panels && isAhead(panels, sent)) showInOrder(panels, others);
  else setProperties(others);
  if (!head) return;
  const { go, ...staying } = head.data;
  const isElsewhere = visits !== sent.visits || ![sent.pathname, go].includes(location.pathname);
  if (go && isElsewhere) return setProperties({ head: { ...head, data: staying } });
  const isBeginning = action.type === "send" && location.pathname === "/" && Boolean(go);
  if (!isBeginning) return setProperties({ head });
  page.begun = go;
  afterFirstWord(() => page.begun === go && setProperties({ head })); // unless the user went elsewhere
}

const mergeProperties = (one, other) =>
  Object.entries(other).reduce((merged, [id, values]) => ({ ...merged, [id]: { ...merged[id], ...values } }), one);

/**
 * Return whether panels that came with an action are still what a reading would show: nothing else was read or shown since.
 */
function isNewest(panels, sent) {
  return newestRead === sent.newestRead && isHere(panels, sent) && !isOlder(panels);
}

/**
 * Return whether panels that came with an action have a change that the page does not show yet, though others are being
 * read. A change is broadcast before its own reply comes: on a busy server, the page asks for the panels meanwhile. Undo
 * must mean the change as soon as its dialog has closed.
 */
function isAhead(panels, sent) {
  return isHere(panels, sent) && getData("transcript").version < panels.transcript.data.version;
}

/** Return whether panels that came with an action are of what the page shows now. */
function isHere(panels, sent) {
  const isSame = page.begun === null && location.pathname === sent.pathname && page.window === sent.window;
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
  showInOrder({ ...panels, head }, others);
}

/**
 * Show the conversation first, and the rest when it is painted. Each property that Dash sets costs a look at all components,
 * so those that have their values already are left out.
 * @param {object} panels properties of a reading @param {object} [others] to show at once
 */
async function showInOrder(panels, others = {}) {
  showWaiting();
  const [first, rest] = [true, false].map((isFirst) =>
    Object.fromEntries(Object.entries(panels).filter(([id]) => CONVERSATION.has(id) === isFirst)));
  showData(omitShown(mergeProperties(others, first)));
  waiting = rest;
  if (!document.hidden) await waitForPaint();
  if (waiting === rest) showWaiting();
}

function showWaiting() {
  if (waiting === null) return;
  const rest = waiting;
  waiting = null;
  showData(omitShown(rest));
}

const omitShown = (properties) =>
  Object.fromEntries(Object.entries(properties).filter(([id, values]) => !isShown(getProperties(id), values)));

const isShown = (shown, values) => shown && Object.entries(values).every(([name, value]) => shown[name] === value);

/**
 * Clientside callback: read every panel. A reply that comes after a newer one, or after another address, is dropped.
 * @param {string} pathname
 * @param {object|undefined} update
 * @param {object|undefined} shownWindow the messages that the transcript holds
 */
export async function readPanels(pathname, update, shownWindow) {
  Object.assign(page, { pathname, update: update ?? null, window: shownWindow ?? null, begun: null });
  const isBegun =
    begunRead !== null &&
    begunRead.pathname === pathname &&
    begunRead.update.tick === update?.tick &&
    begunRead.window === page.window;
  const { number, shown, reply } = isBegun ? begunRead : beginRead(pathname, page.update);
  if (isBegun) begunRead = null;
  const read = await reply;
  if (read === null || number < shownRead || pathname !== page.pathname) return;
  if (shown !== shownChanges && isOlder(read)) return; // else the server has gone back, to a backup: it is right
  shownRead = number;
  showInOrder(read);
}

function beginRead(pathname, update) {
  newestRead += 1;
  openReads += 1;
  const reply = request("/api/panels", { ...describePage(update), pathname }).finally(() => (openReads -= 1));
  return { pathname, update, window: page.window, number: newestRead, shown: shownChanges, reply };
}

/** Go to an address that the user has chosen. @param {string} address */
export function goTo(address) {
  visits += 1;
  page.begun = null;
  refreshPanels(address);
}

/**
 * Make every panel read again. The new update keeps the fields that a panel may not have seen yet.
 * @param {string} [address] to go to
 */
export function refreshPanels(address) {
  const { fill, closed } = page.update ?? {};
  const kept = { ...(fill && { fill }), ...(closed && { closed }), ...(address && { go: address }) };
  const update = { tick: Date.now() / 1000, ...kept };
  begunRead = beginRead(address ?? location.pathname, update); // at once: until Dash calls for it, two frames may pass
  setProperties({ head: { data: update } });
}

function showData(properties) {
  shownChanges += 1;
  setProperties(properties);
}

/** Read the list of conversations alone; once more where a panel has changed meanwhile, and the reply may be older. */
export async function refreshThreads() {
  const [shown, newest] = [shownChanges, newestRead];
  const read = await request("/api/panels", { ...describePage(), list_only: true });
  if (read === null) return;
  if (waiting === null && shown === shownChanges && newest === newestRead) showData(read);
  else refreshThreads();
}

/**
 * Apply a turn's changes to the panels.
 * @param {{properties: object, data: Record<string, import("./data-changes.mjs").DataChange>}} turn
 * @returns {boolean} whether that is all. Otherwise the panels have to be read: Dash may not be there yet, and a reading
 *   that is under way may be older than the turn.
 */
export function applyTurn({ properties, data }) {
  if (Object.keys(data).some((id) => !getData(id))) return false;
  showWaiting(); // it is older than the turn
  const changed = Object.entries(data).map(([id, change]) => [id, { data: changeData(getData(id), change) }]);
  showData({ ...properties, ...Object.fromEntries(changed) });
  if (openReads > 0) shownRead = newestRead + 1; // drops what is being read
  return openReads === 0;
}

/**
 * Read the changes of the panels by a run that is at work.
 * @returns {Promise<object|null>} for `applyTurn`; null if the panels have to be read
 */
export async function readTurn(thread, run) {
  const { reply } = await send(`/api/threads/${encodeURIComponent(thread)}/runs/${encodeURIComponent(run)}/turn`, {
    failureText: NOT_DONE_TEXT,
  });
  return reply; // without one, the reading of the panels tells
}

const getData = (id) => getProperties(id)?.data;

const describePage = (update = page.update) => ({
  pathname: page.begun ?? location.pathname,
  update: update && { ...update, toast: undefined },
  window: page.window,
  list_seen: getListSeen(),
});

/** Send a request of the page. @returns {Promise<object|null>} null without a usable reply, of which the user knows then */
async function request(address, body, watching = {}) {
  const { reply, status } = await send(address, {
    body,
    failureText: NOT_DONE_TEXT,
    watch: (run) => watchReply(run, watching),
  });
  if (reply !== null || status === null) return reply; // `watchReply` told of a lost one
  if (status !== TOO_LONG) showToast(NOT_DONE_TEXT);
  reportLostRequest();
  return null;
}
