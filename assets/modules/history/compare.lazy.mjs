/** Two positions of the conversation side by side: their common messages, and the messages where they differ. */
import { ReadingDialog } from "../lib/dialog.lazy.mjs";
import { useFetch } from "../lib/fetch.lazy.mjs";
import { formatCount } from "../lib/format.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { showToast } from "../lib/toast.mjs";
import { runProseTool } from "../message/prose.mjs";
import { ReadOnlyMessage } from "../message/read-only-message.lazy.mjs";

const { Fragment, createElement: h, useId, useState } = window.React;

const GONE_TEXT = "One of them no longer exists.";
const CURRENT_POSITION = "";

loadStyle(new URL("./compare.lazy.css", import.meta.url));

/**
 * Places are in the server's notation: "" is the current position, otherwise "branch:ID", "checkpoint:ID" or "message:ID".
 * @param {{data: import("../lib/types.mjs").HistoryData, place: string, act: Function, onClose: () => void}} props
 */
export function Compare({ data, place, act, onClose }) {
  const [one, setOne] = useState(place);
  const [other, setOther] = useState(CURRENT_POSITION);
  const { content, status } = useFetch(`/api/threads/${data.thread}/comparison?${new URLSearchParams({ one, other })}`, GONE_TEXT, data.version);
  const go = (type, target) => {
    onClose();
    act(type, target);
  };
  const side = (name, place, onChoose) => h(Side, { name, data, place, onChoose, side: content?.[name], go });
  return h(
    ReadingDialog,
    { title: "Compare", size: "xl", className: "compare", onClose },
    h("div", { className: "compare-common" }, h("p", { role: "status" }, status ?? describeShared(content)), content?.common && h("blockquote", null, content.common)),
    h("div", { className: "compare-sides", onClick: (event) => runProseTool(event, showToast) }, side("one", one, setOne), side("other", other, setOther)),
  );
}

/** "12 messages in common, the last of them:" */
function describeShared({ shared, common, one, other }) {
  if (shared + one.length + other.length === 0) return "No differences: both are empty.";
  if (one.length + other.length === 0) return `No differences: both have ${shared === 1 ? "the same message" : `the same ${formatCount(shared, "message")}`}.`;
  if (shared === 0 && (one.length === 0 || other.length === 0)) return "Nothing in common: one of them is empty.";
  if (shared === 0) return "Nothing in common: they differ from the first message on.";
  return `${formatCount(shared, "message")} in common${common ? `, ${shared === 1 ? "this one" : "the last of them"}:` : "."}`;
}

/** One of the two positions, with a list to choose another. */
function Side({ name, data, place, onChoose, side, go }) {
  const id = useId();
  return h(
    "section",
    { className: "compare-side", "aria-labelledby": id },
    h(
      "div",
      { className: "compare-place" },
      h("label", { className: "visually-hidden", htmlFor: `${id}-place` }, name === "one" ? "First position" : "Second position"),
      h(PositionSelect, { id: `${id}-place`, data, place, onChoose }),
      h(GoButton, { place, go }),
    ),
    h("h3", { className: "compare-length", id }, side ? (side.length ? formatCount(side.length, "more message") : "No other messages") : "…"),
    side?.messages.map((message) => h(ReadOnlyMessage, { key: message.id, message })),
    side?.more > 0 && h("p", { className: "quiet" }, `… and ${formatCount(side.more, "message")} more.`),
  );
}

function PositionSelect({ id, data, place, onChoose }) {
  const branches = data.branches.filter(({ current }) => !current);
  const option = (value, name) => h("option", { key: value, value }, name);
  const known = [CURRENT_POSITION, ...branches.map(({ id }) => `branch:${id}`), ...data.checkpoints.map(({ id }) => `checkpoint:${id}`)];
  return h(
    "select",
    { id, className: "form-select", value: place, onChange: (event) => onChoose(event.target.value) },
    option(CURRENT_POSITION, "Current position"),
    !known.includes(place) && option(place, place.startsWith("message:") ? "Selected place" : "(no longer exists)"),
    branches.length > 0 && h("optgroup", { label: "Branches" }, branches.map((branch) => option(`branch:${branch.id}`, branch.name))),
    data.checkpoints.length > 0 &&
      h("optgroup", { label: "Checkpoints" }, data.checkpoints.map((checkpoint) => option(`checkpoint:${checkpoint.id}`, checkpoint.name)).reverse()),
  );
}

/** The button that goes to a position. As everywhere, the page asks for confirmation first. */
function GoButton({ place, go }) {
  const [kind, id] = place.split(":");
  const button = (text, onClick) => h("button", { type: "button", className: "quiet-button", onClick }, text);
  if (kind === "branch") return button("Switch to it", () => go("switch", { branch: id }));
  if (kind === "checkpoint") return button("Restore", () => go("restore", { checkpoint: id }));
  return h(Fragment);
}
