/** The edges of the side panes: dragged, or moved by keys. */
import { storePane, togglePane } from "./panes.mjs";

const STEP_REM = 1;
/** The same limits and first widths as in shell.css. A key to the right makes the first pane wider, and History narrower. */
const PANES = {
  threads: { min: 12, max: 24, first: 16, direction: 1 },
  history: { min: 16, max: 40, first: 22, direction: -1 },
};

const getRem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
const findPane = (edge) => /** @type {HTMLElement} */ (document.querySelector(`.pane-${edge.dataset.pane}`));
const measureWidth = (edge) => findPane(edge).getBoundingClientRect().width / getRem();

/** Set the width of a pane within its limits. @param {HTMLElement} edge @param {number} rems */
function setWidth(edge, rems) {
  const { pane } = edge.dataset;
  const width = Math.min(PANES[pane].max, Math.max(PANES[pane].min, Math.round(rems * 16) / 16));
  document.documentElement.style.setProperty(`--${pane}-width`, `${width}rem`);
  describeWidth(edge);
  return width;
}

/** Say the width as it is: the window limits it, too. */
function describeWidth(edge) {
  const { min, max } = PANES[edge.dataset.pane];
  const rem = getRem();
  const values = { valuenow: measureWidth(edge) * rem, valuemin: min * rem, valuemax: max * rem };
  for (const [name, value] of Object.entries(values)) edge.setAttribute(`aria-${name}`, Math.round(value));
}

function dragEdge(down) {
  const edge = down.currentTarget;
  if (down.button !== 0) return;
  down.preventDefault(); // else the text would be selected
  edge.setPointerCapture(down.pointerId);
  const { direction } = PANES[edge.dataset.pane];
  const first = measureWidth(edge);
  let width = first;
  const onMove = ({ clientX }) => (width = setWidth(edge, first + ((clientX - down.clientX) * direction) / getRem()));
  edge.addEventListener("pointermove", onMove);
  const end = () => {
    edge.removeEventListener("pointermove", onMove);
    if (width !== first) storePane(edge.dataset.pane, { width });
  };
  edge.addEventListener("lostpointercapture", end, { once: true });
}

function moveEdge(event) {
  const edge = event.currentTarget;
  const { pane } = edge.dataset;
  const { min, max, direction } = PANES[pane];
  const width = measureWidth(edge);
  const step = STEP_REM * direction;
  const next = { ArrowRight: width + step, ArrowLeft: width - step, Home: min, End: max }[event.key];
  if (next === undefined && event.key !== "Enter") return;
  event.preventDefault();
  if (event.key === "Enter") togglePane(pane);
  else storePane(pane, { width: setWidth(edge, next) });
}

export function watchPaneEdges() {
  for (const edge of document.querySelectorAll(".pane-edge")) {
    const pane = /** @type {"threads"|"history"} */ (edge.dataset.pane);
    describeWidth(edge);
    edge.addEventListener("pointerdown", dragEdge);
    edge.addEventListener("keydown", moveEdge);
    edge.addEventListener("focus", () => describeWidth(edge));
    edge.addEventListener("dblclick", () => storePane(pane, { width: setWidth(edge, PANES[pane].first) }));
  }
}
