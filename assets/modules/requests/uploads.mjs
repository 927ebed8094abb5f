/** Upload files. An action then names them by the ids that the server gave them. */
import { buildApi } from "../browser/addresses.mjs";
import { _ } from "../words/words.mjs";
import { fetchReply, readRefusal } from "./send.mjs";

/** The server has answered an upload with a refusal; the message is its sentence. */
export class UploadRefusedError extends Error {}

/**
 * @param {"import"|"file"} purpose
 * @param {Blob} content
 * @param {{headers?: object, signal?: AbortSignal}} [options]
 * @returns {Promise<string>} the id of the upload
 */
export async function uploadContent(purpose, content, { headers, signal } = {}) {
  const type = { "Content-Type": "application/octet-stream" };
  const options = { method: "POST", body: content, headers: { ...headers, ...type }, signal };
  const reply = await fetchReply(buildApi(`uploads/${purpose}`), options, true);
  if (!reply.ok) throw new UploadRefusedError(await readRefusal(reply, _("The upload did not work. Please try again.")));
  return (await reply.json()).id;
}

/**
 * @param {import("../state/types.mjs").ChosenFile[]} files
 * @returns {Promise<{name: string, id: string}[]>} the files as a message names them
 */
export const uploadFiles = (files) =>
  Promise.all(files.map(async ({ name, content }) => ({ name, id: await uploadContent("file", content) })));
