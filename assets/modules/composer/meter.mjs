/** The context meter: how full the model's window is and, when opened, how much the conversation has used. */
import { buildThreadApi } from "../browser/addresses.mjs";
import { button } from "../controls/buttons.mjs";
import { icon } from "../controls/icons.mjs";
import { usePopover } from "../controls/popover.mjs";
import { useFetch } from "../requests/shown-content.mjs";
import { formatCount } from "../words/format.mjs";
import { LANGUAGE, _, ngettext } from "../words/words.mjs";

const { createElement: h } = window.React;

const BYTES_PER_TOKEN = 4; // the server's estimate (agent/context/tokens.py)
/** @type {[number, string][]} */
const LEVELS = [[95, "danger"], [80, "warning"], [0, "calm"]];
const PANEL = "meter-panel";

/** @returns {number} estimated tokens, in steps: most key presses then render nothing */
export const estimateTokens = (text) => Math.floor(text.length / 1024) * (1024 / BYTES_PER_TOKEN);

/** @typedef {import("../state/types.mjs").MeterView} MeterView */

/** A warning before a message is sent that does not fit. @param {{meter: MeterView|null, typed: number}} props */
export function WindowNotice({ meter, typed }) {
  if (!meter || typed === 0 || meter.tokens + typed <= meter.most) return null;
  const isAlone = typed > meter.most;
  if (!isAlone && meter.left_out > 0) return null; // this is so with every message
  const text = isAlone
    ? _("This message is larger than the model's window of {tokens}. Shorten it, or the model cannot read all of it.", {
        tokens: formatCount(meter.most, "token"),
      })
    : _("This message fills the model's window: the model will no longer see the first messages. /compact summarises them.");
  return h("p", { className: "composer-window", role: "status" }, icon("exclamation-triangle"), text);
}

/** @param {{thread: string, version: number, meter: MeterView, typed: number}} props */
export function Meter({ thread, version, meter, typed }) {
  const { isOpen, setOpen, root, onKeyDown } = usePopover(thread);
  const tokens = meter.tokens + typed;
  const percent = (100 * tokens) / meter.most;
  const [, level] = LEVELS.find(([least]) => percent >= least) ?? [0, "calm"];
  const about = meter.exact && typed === 0 ? "" : _("about ");
  const share = percent < 1 ? _("under 1 %") : `${about}${Math.round(percent)} %`;
  const label = [
    h("span", { key: "hidden", className: "visually-hidden" }, _("Context: ")),
    h("span", { key: "ring", className: "meter-ring", "aria-hidden": true,
      style: { "--share": `${Math.min(100, percent)}%` } }),
    h("span", { key: "share" }, share),
    h("span", { key: "of", className: "meter-of" }, _(" of {tokens}", { tokens: formatCount(meter.most, "token") })),
  ];
  return h(
    "div",
    { className: "meter", ref: root, onKeyDown },
    button("text-button meter-button", label, () => setOpen(!isOpen), {
      "data-testid": "meter",
      "data-level": level,
      title: _("How full the model's context is"),
      "aria-expanded": isOpen,
      "aria-controls": isOpen ? PANEL : undefined,
    }),
    isOpen && h(Panel, { thread, version, meter, tokens, about }),
  );
}

function Panel({ thread, version, meter, tokens, about }) {
  const { most, answer, messages, left_out: leftOut } = meter;
  const formatInteger = (number) => number.toLocaleString(LANGUAGE);
  const sentence = _("{about}{tokens} of {most} tokens; {answer} more are reserved for the answer.", {
    about,
    tokens: formatInteger(tokens),
    most: formatInteger(most),
    answer: formatInteger(answer),
  });
  return h(
    "div",
    { id: PANEL, className: "meter-panel", role: "group", "aria-label": _("Context and usage") },
    h("p", null, sentence.charAt(0).toUpperCase() + sentence.slice(1)),
    h(
      "p",
      { className: leftOut > 0 ? "meter-left-out" : undefined },
      leftOut > 0
        ? _("The model no longer sees the first {leftOut} of {messages}. They stay in the conversation.", {
            leftOut: formatInteger(leftOut),
            messages: formatCount(messages, "message"),
          })
        : ngettext("The model sees the message.", "The model sees all {count} messages.", messages, {
            count: formatInteger(messages),
          }),
    ),
    h(UsageSoFar, { thread, version }),
  );
}

/** The usage so far. Fetched when the panel opens, because the server reads the whole conversation for it. */
function UsageSoFar({ thread, version }) {
  const { content, status } = useFetch(buildThreadApi(thread, "usage"), _("Couldn't load the usage."), version);
  return h("p", { role: "status" }, content?.text ?? status);
}
