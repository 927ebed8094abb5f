/** The figures of some messages in one line: answers, tokens, cost, models, tools, time. */
import { formatCount, formatDollars, formatDuration, formatModelUsages, formatNumber, formatUsage } from "../lib/format.mjs";
import { nameModel } from "../lib/model-names.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h } = window.React;

/**
 * @param {{figures: import("./compare.lazy.mjs").FiguresView|null, lead?: object|null}} props `lead`: an element that the
 *   line begins with, in the place of the number of answers
 */
export function FiguresLine({ figures, lead = null }) {
  const parts = figures ? listFigures(figures, lead === null) : [];
  if (lead === null && parts.length === 0) return null;
  const shown = parts.map(({ text, title }) => h("span", { key: text, title }, text));
  return h("p", { className: "figures-line" }, lead, shown);
}

/**
 * @param {import("./compare.lazy.mjs").FiguresView} figures @param {boolean} hasAnswers whether to count several answers
 * @returns {{text: string, title?: string}[]}
 */
function listFigures(figures, hasAnswers) {
  const { answers, input, output, cost, models, tools, duration_ms: duration } = figures;
  const several = models.length > 1 ? formatModelUsages(models) : models.map(({ spec }) => nameModel(spec));
  const calls = tools.map(({ name, count }) => (count > 1 ? `${name} ×${count}` : name));
  const [title, hasUsage] = [formatUsage(figures), input + output > 0];
  const parts = [
    { text: hasAnswers && answers > 1 && formatCount(answers, "answer") },
    { text: hasUsage && _("{input} in", { input: formatNumber(input) }), title },
    { text: hasUsage && _("{output} out", { output: formatNumber(output) }), title },
    { text: cost !== null && describeCost(figures) },
    ...several.map((text) => ({ text })),
    { text: calls.join(", ") },
    { text: duration > 0 && formatDuration(duration) },
  ];
  return parts.flatMap(({ text, ...others }) => (text ? [{ text, ...others }] : []));
}

/** "$0.0006", and of how many answers the price is not known. */
function describeCost({ cost, unpriced }) {
  const dollars = formatDollars(cost);
  if (unpriced === 0) return dollars;
  return _("{cost} (without {answers} of unknown price)", { cost: dollars, answers: formatCount(unpriced, "answer") });
}
