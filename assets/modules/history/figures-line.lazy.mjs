/** The figures of some messages in one line: tokens, cost, tools, answers, time, and each model where there are several. */
import { formatCount, formatDollars, formatDuration, formatModelUsages, formatUsage } from "../lib/format.mjs";
import { nameModel } from "../lib/model-names.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h } = window.React;

/** @param {{figures: import("./compare.lazy.mjs").FiguresView}} props */
export function FiguresLine({ figures }) {
  return h(
    "p",
    { className: "figures-line" },
    listFigures(figures).map((figure) => h("span", { key: figure }, figure)),
  );
}

/** @param {import("./compare.lazy.mjs").FiguresView} figures @returns {string[]} */
function listFigures(figures) {
  const { answers, input, output, cost, unpriced, models, tools, duration_ms: duration } = figures;
  const list = [formatCount(answers, "answer")];
  if (input + output > 0) list.push(formatUsage(figures));
  if (cost !== null)
    list.push(
      unpriced > 0
        ? _("{cost} (without {answers} of unknown price)", {
            cost: formatDollars(cost),
            answers: formatCount(unpriced, "answer"),
          })
        : formatDollars(cost),
    );
  list.push(...(models.length > 1 ? formatModelUsages(models) : models.map(({ spec }) => nameModel(spec)).filter(Boolean)));
  if (tools.length > 0) list.push(tools.map(({ name, count }) => (count > 1 ? `${name} ×${count}` : name)).join(", "));
  if (duration > 0) list.push(formatDuration(duration));
  return list;
}
