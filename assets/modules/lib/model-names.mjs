/** Names of models for people. Pure functions. */

/**
 * @param {string} spec @param {import("./types.mjs").ModelItem[]} models
 * @returns {string} "gpt-5" of `openai:gpt-5`; the whole of one without a known provider
 */
export function nameModel(spec, models) {
  const hasProvider = models.some(({ name, provider }) => name === spec && provider);
  return hasProvider ? spec.slice(spec.indexOf(":") + 1) : spec;
}
