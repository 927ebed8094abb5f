/** Requests of the conversation to History, which shows the card of a checkpoint, and the form of a new one. */
const { useEffect, useRef } = window.React;

const OPEN = "waymark-open-checkpoint";
const SAVE = "waymark-save-checkpoint";

const KINDS = [OPEN, SAVE];

const send = (kind, detail) => document.dispatchEvent(new CustomEvent(kind, { detail }));

/** Show the card of a checkpoint. @param {string} checkpoint its id */
export const openCheckpoint = (checkpoint) => send(OPEN, { checkpoint });

/** Open the form for a checkpoint of a message. @param {{message: string, quote: string}} place */
export const saveAtMessage = (place) => send(SAVE, place);

/**
 * Follow the requests. @param {(request: {checkpoint: string}) => void} onOpen
 * @param {(place: {message: string, quote: string}) => void} onSave
 */
export function useHistoryRequests(onOpen, onSave) {
  const latest = useRef({});
  latest.current = { [OPEN]: onOpen, [SAVE]: onSave };
  useEffect(() => {
    /** @param {CustomEventInit & Event} request */
    const onRequest = ({ type, detail }) => latest.current[type](detail);
    for (const kind of KINDS) document.addEventListener(kind, onRequest);
    return () => KINDS.forEach((kind) => document.removeEventListener(kind, onRequest));
  }, []);
}
