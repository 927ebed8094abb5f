/** The order of the first second: our panels are painted before Dash's scripts run, which takes most of the time. */
import { showLayout } from "./roots.mjs";

const MAX_LAYOUT_MS = 300; // for a layout that is late: Dash's scripts run meanwhile
const MAX_PAINT_MS = 1000; // for its paint: a tab in the background is not painted

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const waitForPaint = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
const createElement = (name, properties) => Object.assign(document.createElement(name), properties);

/**
 * Show the conversation as soon as its data is there, the other panels after it is painted, then begin Dash.
 * @param {Object<string, Function>} conversation components by their names
 * @param {Object<string, Function>} others
 */
export async function showFirstPage(conversation, others) {
  const sources = Array.from(document.querySelectorAll("script[data-src]"), ({ dataset }) => dataset.src); // of Dash
  const painted = paintPanels(conversation, others, sources).catch(() => undefined);
  const isThere = await Promise.race([window.waymark.layout.then(() => true, () => false), wait(MAX_LAYOUT_MS)]);
  // else the scripts would delay the paint
  if (isThere && !document.hidden) await Promise.race([painted, wait(MAX_PAINT_MS)]);
  window.waymark.fetchEarly("/_dash-dependencies");
  await runScripts(sources);
  window.renderer = new window.DashRenderer();
}

async function paintPanels(conversation, others, sources) {
  const layout = await window.waymark.layout;
  showLayout(conversation, layout);
  await waitForPaint();
  preload(sources); // not earlier: the requests alone take 8 ms
  showLayout(others, layout);
  await waitForPaint();
}

/** Preload scripts, unless they run already: the layout was late. */
function preload(sources) {
  if (sources.some((src) => document.querySelector(`script[src="${src}"]`))) return;
  document.head.append(...sources.map((href) => createElement("link", { rel: "preload", as: "script", href })));
}

/** Run scripts in their order. */
function runScripts(sources) {
  const scripts = sources.map((src) => createElement("script", { src, async: false }));
  document.head.append(...scripts);
  return Promise.all(
    scripts.map((script) => new Promise((resolve, reject) => Object.assign(script, { onload: resolve, onerror: reject }))),
  );
}
