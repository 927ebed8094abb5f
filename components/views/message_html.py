"""Messages as HTML for a self-contained document. Plain texts are escaped; views sanitise formatted texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from agent.models.providers import shorten_spec
from components.views.message_view import MessageView
from components.views.subagent_work import WorkView
from components.views.tool_cards import ToolView
from words import N_, _, say_moment

_SPEAKERS = {"user": N_("Question"), "assistant": N_("Agent"), "note": N_("Note")}
_STATES = {
    "error": N_("error"),
    "stopped": N_("stopped"),
    "running": N_("running"),
    "waiting": N_("waiting"),
    "queued": N_("queued"),
}
DescribeWork = Callable[[WorkView], Sequence[MessageView]]


@dataclass(frozen=True, slots=True)
class MessageFrame:
    """What a document adds to a message: its anchor, its files (HTML), and the sentence below it."""

    anchor: str = ""
    attached: str = ""
    below: str = ""
    # The message goes on with an answer: the same speaker is not named again.
    goes_on: bool = False


def write_message(view: MessageView, describe_work: DescribeWork, frame: MessageFrame = MessageFrame()) -> str:
    """Write a message, and its calls and the work of sub-agents, each folded."""
    label = f"<p class='note-label'>{escape(view['label'])}</p>" if view["label"] else ""
    reasoning, identifier = view["reasoning"], f' id="{frame.anchor}"' if frame.anchor else ""
    parts = [
        f'<article class="message message-{view["role"]}"{identifier}>',
        "" if frame.goes_on else _write_head(view),
        label,
        fold(_("Reasoning"), f"<pre>{escape(reasoning['text'])}</pre>") if reasoning else "",
        f"<div class='prose'>{view['html']}</div>" if view["html"] else "",
        frame.attached,
        *(_write_call(tool, describe_work) for tool in view["tools"]),
        f"<p class='cut-off'>{escape(_('This message was cut off.'))}</p>" if view["state"] == "partial" else "",
        f"<p class='no-answer'>{escape(frame.below)}</p>" if frame.below else "",
        "</article>\n",
    ]
    return "".join(parts)


def name_speaker(view: MessageView) -> str:
    """Return who asked, the model that answered, or what the message is."""
    return view["person"] or (shorten_spec(view["model"]) if view["model"] else _(_SPEAKERS[view["role"]]))


def _write_head(view: MessageView) -> str:
    time = f"<time datetime='{escape(view['time'])}'>{say_moment(datetime.fromisoformat(view['time']))}</time>"
    return f"<header><span>{escape(name_speaker(view))}</span> {time}</header>"


def _write_call(tool: ToolView, describe_work: DescribeWork) -> str:
    state = "" if tool["status"] == "done" else f" · {_(_STATES[tool['status']])}"
    result = _("(none)") if tool["result"] is None else tool["result"]
    texts = ((_("Arguments"), tool["arguments"]), (_("Error") if tool["status"] == "error" else _("Result"), result))
    body = "".join(f"<p class='label'>{escape(name)}</p><pre>{escape(text)}</pre>" for name, text in texts)
    work = tool["work"]
    below = "".join(write_message(each, describe_work) for each in describe_work(work)) if work else ""
    answered = fold(_("Work of {agent}", agent=work["agent"]), below) if work and below else ""
    return fold(_("Tool: {name}", name=tool["name"]) + state, body) + answered


def fold(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"
