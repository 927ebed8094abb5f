"""Messages as HTML for a self-contained document. Plain texts are escaped; views sanitise formatted texts."""

from collections.abc import Callable, Sequence
from html import escape

from components.views.message_view import MessageView
from components.views.subagent_work import WorkView
from components.views.tool_cards import ToolView
from words import N_, _

_SPEAKERS = {"user": N_("Question"), "assistant": N_("Agent"), "note": N_("Note")}
_STATES = {
    "error": N_("error"),
    "stopped": N_("stopped"),
    "running": N_("running"),
    "waiting": N_("waiting"),
    "queued": N_("queued"),
}
DescribeWork = Callable[[WorkView], Sequence[MessageView]]


def write_message(view: MessageView, describe_work: DescribeWork, anchor: str = "", attached: str = "") -> str:
    """Write a message with its files (HTML), and its calls and the work of sub-agents, each folded."""
    label = f"<p class='note-label'>{escape(view['label'])}</p>" if view["label"] else ""
    time = f"<time datetime='{escape(view['time'])}'>{escape(view['time'][:16].replace('T', ' '))}</time>"
    reasoning, identifier = view["reasoning"], f' id="{anchor}"' if anchor else ""
    speaker = view["person"] or _(_SPEAKERS[view["role"]])
    parts = [
        f'<article class="message message-{view["role"]}"{identifier}>',
        f"<header><span>{escape(speaker)}</span> {time}</header>",
        label,
        fold(_("Reasoning"), f"<pre>{escape(reasoning['text'])}</pre>") if reasoning else "",
        f"<div class='prose'>{view['html']}</div>" if view["html"] else "",
        attached,
        *(_write_call(tool, describe_work) for tool in view["tools"]),
        f"<p class='cut-off'>{escape(_('This message was cut off.'))}</p>" if view["state"] == "partial" else "",
        "</article>\n",
    ]
    return "".join(parts)


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
