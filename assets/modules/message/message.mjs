/** A message in a dialog that Dash builds: without actions, but with the tools of its text. */
import { showToast } from "../controls/toast.mjs";
import { Prose, runProseTool } from "./prose.mjs";
import { ReadOnlyMessage } from "./read-only-message.mjs";

const { createElement: h } = window.React;

/**
 * A Dash component.
 * @param {{data: {html?: string, message?: import("../state/types.mjs").MessageView, isNamed?: boolean}}} props
 */
export function Message({ data }) {
  const shown = data.message ? h(ReadOnlyMessage, data) : h(Prose, { html: data.html ?? "" });
  return h("div", { onClick: (event) => runProseTool(event, showToast) }, shown);
}
