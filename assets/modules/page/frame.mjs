/** What begins with the page's frame, once Dash has rendered it. */
import { releaseProperties } from "../lib/properties.mjs";
import { watchPaneEdges } from "./pane-edges.mjs";
import { describePanes } from "./panes.mjs";
import { watchRegions } from "./regions.mjs";

/** Clientside callback: called once, when the frame is there. */
export function watchFrame() {
  document.querySelector(".empty-frame")?.remove();
  watchPaneEdges();
  watchRegions();
  releaseProperties();
  describePanes();
  return window.dash_clientside.no_update;
}
