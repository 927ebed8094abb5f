/**
 * Requests of the conversation to History, which shows the card of a checkpoint, the form of a new one, and a comparison.
 */
const { useEffect, useRef } = window.React;

const OPEN = "waymark-open-checkpoint";
const SAVE = "waymark-save-checkpoint";
const COMPARE = "waymark-compare-place";

const KINDS = [OPEN, SAVE, COMPARE];

const send = (kind, detail) => document.dispatchEvent(new CustomEvent(kind, { detail }));

/** Show the card of a checkpoint. @param {string} checkpoint its id */
export const openCheckpoint = (checkpoint) => send(OPEN, { checkpoint });

/** Open the form for a checkpoint of a message. @param {{message: string, quote: string}} place */
export const saveAtMessage = (place) => send(SAVE, place);

/** Compare a place with the current position. @param {string} place in the notation of a comparison */
export const comparePlace = (place) => send(COMPARE, { place });

/**
 * Follow the requests. @param {(request: {checkpoint: string}) => void} onOpen
 * @param {(place: {message: string, quote: string}) => void} onSave
 * @param {(request: {place: string}) => void} onCompare
 */
export function useHistoryRequests(onOpen, onSave, onCompare) {
  const latest = useRef({});
  latest.current = { [OPEN]: onOpen, [SAVE]: onSave, [COMPARE]: onCompare };
  useEffect(() => {
    /** @param {CustomEventInit & Event} request */
    const onRequest = ({ type, detail }) => latest.current[type](detail);
    for (const kind of KINDS) document.addEventListener(kind, onRequest);
    return () => KINDS.forEach((kind) => document.removeEventListener(kind, onRequest));
  }, []);
}
