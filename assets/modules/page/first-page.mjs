/** The order of the first second: our panels are painted before Dash's scripts run, which takes most of the time. */
import { showLayout } from "./roots.mjs";

const MAX_WAIT_MS = 300; // for a layout that is late: Dash's scripts run meanwhile

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const waitForPaint = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
const createElement = (name, properties) => Object.assign(document.createElement(name), properties);

/** Show the panels as soon as their data is there, then begin Dash. @param {Object<string, Function>} panels components by their names */
export async function showFirstPage(panels) {
  const sources = Array.from(document.querySelectorAll("script[data-src]"), ({ dataset }) => dataset.src);
  document.head.append(...sources.map((href) => createElement("link", { rel: "preload", as: "script", href })));
  const painted = window.waymark.layout.then((layout) => showLayout(panels, layout)).then(waitForPaint);
  await Promise.race([painted.catch(() => undefined), wait(MAX_WAIT_MS)]);
  window.waymark.fetchEarly("/_dash-dependencies");
  await runScripts(sources);
  window.renderer = new window.DashRenderer();
}

/** Run scripts in their order. */
function runScripts(sources) {
  const scripts = sources.map((src) => createElement("script", { src, async: false }));
  document.head.append(...scripts);
  return Promise.all(scripts.map((script) => new Promise((resolve, reject) => Object.assign(script, { onload: resolve, onerror: reject }))));
}
