/** Names of models and providers for people. Pure functions. */

const PROVIDERS = {
  anthropic: "Anthropic", deepseek: "DeepSeek", google_genai: "Google", groq: "Groq", mistralai: "Mistral AI",
  ollama: "Ollama", openai: "OpenAI", openrouter: "OpenRouter", xai: "xAI",
};

/** @param {string} provider as in `openai:gpt-5` @returns {string} its own spelling, "OpenAI" */
export const nameProvider = (provider) => (Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : provider);

/** @param {string} spec @returns {string} "gpt-5" of `openai:gpt-5`; the whole of one without a known provider */
export function nameModel(spec) {
  const [provider] = spec.split(":", 1);
  return Object.hasOwn(PROVIDERS, provider) && spec.length > provider.length + 1 ? spec.slice(provider.length + 1) : spec;
}
