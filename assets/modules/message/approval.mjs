/** The approval of a waiting tool call. */
import { useSinglePress } from "../requests/tracked-request.mjs";
import { _ } from "../words/words.mjs";
import { Decisions } from "./decisions.mjs";

const { createElement: h, useId } = window.React;

const findBlank = (text) => (text.trim() === "" ? "" : null); // nothing is sent, and nothing need be said

/** @param {{tool: import("../state/types.mjs").ToolView, act: Function}} props */
export function Approval({ tool, act }) {
  const { isPending, press } = useSinglePress();
  const label = useId();
  const decide = (kind, fields = {}) => press(() => act("decide", { call: tool.id, kind, ...fields }));
  const choices = [
    { kind: "allow", name: _("Allow"), isMain: true, decide: () => decide("allow") },
    ...(tool.move ? listMoveChoices(tool, tool.move, decide) : listCallChoices(tool, decide)),
    { kind: "deny", name: _("Deny"), decide: () => decide("deny") },
  ];
  return h(
    Decisions,
    { className: "approval", role: "group", "aria-labelledby": label, choices, isPending },
    tool.move ? h(Move, { id: label, move: tool.move }) : h("p", { id: label }, tool.question),
  );
}

function listMoveChoices(tool, { words, argument }, decide) {
  const form = {
    label: _("Note for the agent"), action: _("Go back with this"), isCode: false, text: words, findProblem: findBlank,
    onSend: (text) => decide("edit", { text: JSON.stringify({ ...JSON.parse(tool.arguments), [argument]: text }) }),
  };
  const title = _("Always allow in this conversation");
  return [
    { kind: "always", name: _("Always allow"), title, decide: () => decide("allow", { always: true }) },
    { kind: "words", name: _("Change the note"), form },
  ];
}

function listCallChoices(tool, decide) {
  const edit = {
    label: _("Arguments, as JSON"), action: _("Run with these"), isCode: true, text: tool.arguments, findProblem: findBlank,
    onSend: (text) => decide("edit", { text }),
  };
  const respond = {
    label: _("Answer instead of the tool"), isCode: false, text: "", findProblem: findBlank,
    onSend: (text) => decide("respond", { text }),
  };
  return [
    { kind: "edit", name: _("Change arguments"), form: edit },
    { kind: "respond", name: _("Answer instead"), form: respond },
  ];
}

/** A requested move: its target, the messages it would remove, and its note. */
function Move({ id, move }) {
  return h(
    "div",
    { className: "approval-move" },
    h("p", { id }, move.text),
    h("p", { className: "quiet", title: move.tokens_hint }, move.tokens),
    h("blockquote", null, move.target),
    h("p", { className: "quiet" }, move.note_label),
    h("blockquote", null, move.words),
  );
}
