/** The ids of conversations within addresses, by the same rule as checkpoints/values/thread_ids.py. */

/** @param {string} thread @returns {string} a segment of an address; “.” and “..” would lead to another one */
export const encodeThread = (thread) => encodeURIComponent(thread.replace(/^\.{1,2}~*$/, "$&~"));

/** @param {string} segment @returns {string} Throws `URIError`. */
export const decodeThread = (segment) => decodeURIComponent(segment).replace(/^(\.{1,2}~*)~$/, "$1");
