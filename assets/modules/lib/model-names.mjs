/** Names of models for people: the same rule as `shorten_spec` of agent/models/providers.py. */
const providers = new Set((document.documentElement.dataset.providers ?? "").split(" "));

/**
 * @param {string} spec
 * @returns {string} "gpt-5" of `openai:gpt-5`; the whole of one without a known provider, as a graph's
 */
export function nameModel(spec) {
  const end = spec.indexOf(":");
  return (providers.has(spec.slice(0, Math.max(end, 0))) && spec.slice(end + 1)) || spec;
}

/** @param {string} spec @param {string[]} specs @returns {string} the short name where no other of `specs` has the same */
export function nameModelAmong(spec, specs) {
  const name = nameModel(spec);
  return specs.some((other) => other !== spec && nameModel(other) === name) ? spec : name;
}
