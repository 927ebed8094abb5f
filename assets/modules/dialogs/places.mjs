/** The dialogs about places of the conversation (components/places.py). History opens them. */
import { setProperties } from "../browser/properties.mjs";
import { findPressed, openDialogAbout } from "../page/callbacks.mjs";
import { sendOnce } from "../state/actions.mjs";
import { findSeenVersion } from "../state/seen-version.mjs";
import { getData } from "../state/shown-panels.mjs";

const CURRENT = "current"; // the current position, in a list
const NO_PLACE = "-";

/** Compare a place with the current position. @param {string} place in the notation of components/places.py */
export function comparePlace(place) {
  setProperties({ "compare-shown": { value: "one" } });
  openPlaces("compare", place || CURRENT, CURRENT, "compare-common", "compare-one-side", "compare-other-side");
}

/** Show the values of a graph at a place, and how they differ from now. @param {string} place "" is the current position */
export const showState = (place) => openPlaces("state", place || CURRENT, place ? CURRENT : NO_PLACE);

/** Bring a note from a place into the current branch. @param {string} place */
export function quotePlace(place) {
  setProperties({
    "bring-text": { value: "" }, "bring-draft-about": { children: "" }, "bring-messages": { options: [], value: [] },
  });
  openDialogAbout({ place }, "bring-dialog", "bring-about");
}

/** Ask the questions of a place once more. @param {string} place "" is the current position */
export function runAgain(place) {
  setProperties({
    "again-fields": { hidden: true }, "again-start": { disabled: true }, "again-first": { options: [] },
  });
  openDialogAbout({ place: place || CURRENT }, "again-dialog", "again-about");
}

/** @param {string} name of the dialog @param {string} one @param {string} other @param {...string} parts */
function openPlaces(name, one, other, ...parts) {
  setProperties({ [`${name}-one`]: { value: one }, [`${name}-other`]: { value: other } });
  openDialogAbout({ one, other }, `${name}-dialog`, ...parts);
}

/**
 * Clientside callback: read a dialog about two places again, where others were chosen.
 * @param {string} one @param {string} other @param {{about: {one: string, other: string}}|undefined} opened
 */
export function choosePlaces(one, other, opened) {
  const isShown = !opened || (opened.about.one === one && opened.about.other === other);
  return isShown ? window.dash_clientside.no_update : { at: Date.now(), about: { one, other } };
}

/** Clientside callback: go to a place that is compared, or quote it. The dialog closes. */
export function actOnCompared() {
  const pressed = findPressed();
  if (pressed === null) return window.dash_clientside.no_update;
  const [, type, place, kind, id] = /^\w+ (\w+) ((\w+):(.*))$/s.exec(pressed.row) ?? [];
  const { thread, version } = getData("history");
  const action = { type, version: findSeenVersion(thread, version), [kind]: id };
  if (type === "quote") quotePlace(place);
  else sendOnce("history", action, { thread });
  return false;
}

/**
 * Clientside callback: let the draft of a conclusion follow what a person has written.
 * @param {{at: number, text: string, about: string}} drafted @param {{at: number}} opened the dialog may be of another place
 * @param {string|undefined} text
 */
export function appendDraft(drafted, opened, text) {
  if (drafted.at !== opened.at) return [window.dash_clientside.no_update, window.dash_clientside.no_update];
  return [[text?.trimEnd(), drafted.text].filter(Boolean).join("\n\n"), drafted.about];
}
