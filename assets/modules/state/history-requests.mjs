/** Requests of the conversation to History, which shows the card of a checkpoint, and the form of a new one. */

/**
 * @typedef {{message: string, quote: string}} MessagePlace
 * @typedef {{open: (request: {checkpoint: string}) => void, save: (place: MessagePlace) => void}} Listener
 */

/** @type {Listener|null} */
let listener = null;

/** Show the card of a checkpoint. @param {string} checkpoint its id */
export const openCheckpoint = (checkpoint) => listener?.open({ checkpoint });

/** Open the form for a checkpoint of a message. @param {MessagePlace} place */
export const saveAtMessage = (place) => listener?.save(place);

/** Follow the requests from now on. @param {Listener} next */
export const followRequests = (next) => void (listener = next);
