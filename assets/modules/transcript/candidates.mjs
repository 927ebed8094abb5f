/**
 * Merge the two sources of candidates, the answers of several models to one question: `data` from callbacks, and the
 * socket's frames. Pure functions.
 *
 * @typedef {import("../state/types.mjs").AnswerView} AnswerView
 * @typedef {import("../state/types.mjs").CandidatesView} CandidatesView
 */

const begin = ({ number, model, state = "running" }) => ({
  number, model, state, error: null, details: null, head: null, current: number === 1, messages: [], usage: null,
});

/**
 * @param {CandidatesView|null} candidates as the frames before have told
 * @param {import("../state/types.mjs").Frame} frame
 * @returns {CandidatesView|null}
 */
export function nextCandidates(candidates, frame) {
  const { kind, run, version, answer } = frame;
  if (kind === "start") {
    const since = (each) => (each.state === "running" ? version : 0);
    return frame.candidates
      ? { run, answers: frame.candidates.map((each) => ({ ...begin(each), since: since(each) })) }
      : null;
  }
  if (kind === "hello" && run?.candidates) return resume(candidates, run);
  if (kind !== "answer" || candidates === null) return candidates;
  const replace = (each) => (each.number === answer.number ? { ...answer, since: version } : each);
  return { ...candidates, answers: candidates.answers.map(replace) };
}

/** The first frame of a connection has the texts in progress and the ends; the messages are known, or in the data. */
function resume(candidates, { id, candidates: found }) {
  const known = candidates?.run === id ? candidates.answers : [];
  const answers = found.map(({ number, model, state, error, details }) => ({
    ...(known.find((each) => each.number === number) ?? begin({ number, model })), state, error, details,
  }));
  return { run: id, answers };
}

/**
 * @param {import("../state/types.mjs").TranscriptData} data
 * @param {CandidatesView|null} live
 * @returns {CandidatesView|null} the candidates to show; each answer as the source that knows more of it has it
 */
export function pickCandidates({ candidates, version }, live) {
  if (live === null) return candidates;
  if (candidates?.run !== live.run) return live;
  const findKnown = (each) => candidates.answers.find(({ number }) => number === each.number);
  return { run: live.run, answers: live.answers.map((each) => pickAnswer(each, findKnown(each), version)) };
}

/**
 * Where a newer run has begun, put the answer that it goes on from into the messages, and drop the others.
 * @param {import("../state/types.mjs").TranscriptData} data
 * @param {{id: string|null}|null} run of the socket
 * @returns {import("../state/types.mjs").TranscriptData}
 */
export function leaveCandidates(data, run) {
  if (data.candidates === null || !run?.id || run.id === data.candidates.run) return data;
  const chosen = data.candidates.answers.find(({ current }) => current);
  return { ...data, messages: [...data.messages, ...(chosen?.messages ?? [])], candidates: null };
}

/**
 * @param {AnswerView & {since?: number}} live `since`: the version of the conversation that it is of, where the frame had
 *   one
 * @param {AnswerView|undefined} known
 * @param {number} version of what is known
 */
function pickAnswer(live, known, version) {
  if (known === undefined || (live.since ?? 0) > version || live.messages.length > known.messages.length) return live;
  if (live.since === 0) return known; // it is not of this try
  return live.state === "running" ? known : { ...known, state: live.state, error: live.error, details: live.details };
}
