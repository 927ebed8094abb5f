/** A message without actions, for dialogs. */
import { showToast } from "../controls/toast.mjs";
import { _ } from "../words/words.mjs";
import { Prose, runProseTool } from "./prose.mjs";
import { ShowAll, ShowAllCalls } from "./show-all.mjs";
import { ToolCard } from "./tool-card.mjs";

const { createElement: h } = window.React;

const SPEAKER_NAMES = { user: _("You"), assistant: _("Agent"), note: _("Note") };

/** @param {{message: import("../state/types.mjs").MessageView, isNamed?: boolean}} props `isNamed`: it says who speaks */
export function ReadOnlyMessage({ message, isNamed = true }) {
  const isCut = message.state === "partial";
  return h(
    "section",
    null,
    (isNamed || isCut) &&
      h("h3", { className: "tool-label" },
        message.person || SPEAKER_NAMES[message.role],
        isCut && h("span", { className: "cut-off" }, _(" · Cut off")),
      ),
    message.label !== null && h("p", { className: "note-label" }, message.label),
    message.html !== "" && h(Prose, { html: message.html }),
    h(ShowAll, { more: message.more }),
    message.files.map(({ name }) => h("p", { key: name, className: "quiet" }, name)),
    message.tools.map((tool) => h(ToolCard, { key: tool.id, tool, act: null })),
    h(ShowAllCalls, { more: message.more_tools }),
  );
}

/**
 * A Dash component: a message, or its text alone, with the tools of the text.
 * @param {{data: {html?: string, message?: import("../state/types.mjs").MessageView, isNamed?: boolean}}} props
 */
export function Message({ data }) {
  const shown = data.message ? h(ReadOnlyMessage, data) : h(Prose, { html: data.html ?? "" });
  return h("div", { onClick: (event) => runProseTool(event, showToast) }, shown);
}
