/**
 * Upload the files of a message when it is sent. Until then they stay in the page, however long it waits and whatever the
 * server forgets.
 */
import { createRequestId } from "../lib/actions.mjs";
import { reportLostRequest } from "../lib/tracked-request.mjs";
import { UploadRefusedError, uploadFiles } from "../lib/uploads.mjs";
import { _ } from "../lib/words.mjs";

const { useRef } = window.React;

const LEFT_TEXT = _("Not sent: you left the conversation before its files were there. The message is back in its field.");

/**
 * Wrap `act`: files are uploaded first, and the action then names them. It is never reported without them, nor in another
 * conversation than its own.
 * @param {import("../lib/types.mjs").Act} act
 * @param {string|null} thread
 * @param {{settle: Function}} request of the action
 * @returns {(sent: {type: string, files: import("../lib/types.mjs").ChosenFile[], request_id?: string},
 *   fields: object) => string} returns the request id
 */
export function useFileSending(act, thread, { settle }) {
  const latest = useRef({ sent: null, thread });
  latest.current.thread = thread;

  const upload = async (sent, fields, request_id) => {
    const isReplaced = () => latest.current.sent !== sent; // the user has sent it again, or another message in its place
    const refuse = (text) => settle({ request_id, ok: false, text });
    try {
      const files = await uploadFiles(sent.files);
      if (isReplaced()) return;
      if (latest.current.thread === thread) act(sent.type, { ...fields, files }, request_id);
      else refuse(LEFT_TEXT);
    } catch (error) {
      if (isReplaced()) return;
      if (error instanceof UploadRefusedError) refuse(_("Not sent. {message}", { message: error.message }));
      else reportLostRequest();
    }
  };
  return (sent, fields) => {
    if (sent.type === "send") latest.current.sent = sent;
    if (sent.files.length === 0) return act(sent.type, fields, sent.request_id);
    const request_id = sent.request_id ?? createRequestId();
    upload(sent, fields, request_id);
    return request_id;
  };
}
