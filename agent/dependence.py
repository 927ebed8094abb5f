"""What on a path rests on a message: what every agent said since that could have come from it. Pure functions.

An agent knows its own messages and nothing else. So what follows in its memory depends on the message, and what others
were asked by that or were answered with it, and what they said after that, to any depth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from checkpoints import MAIN, Message

KEY = "asked"  # in a question's additional_kwargs: {"call": the id of the call that asks it, "by": the agent that made it}
_Call = tuple[str, str]  # the agent that makes it, and its id there


def asked(message: Message) -> _Call | None:
    """Which call a message puts to its agent as a question; None for any other message."""
    marks = (message.body["data"].get("additional_kwargs") or {}).get(KEY) if message.agent != MAIN else None
    if message.type != "human" or not isinstance(marks, dict):
        return None
    by, call = marks.get("by"), marks.get("call")
    return (by, call) if isinstance(by, str) and isinstance(call, str) else None


def calls(message: Message) -> list[str]:
    """The ids of the calls that an answer makes."""
    data = message.body["data"] if message.type == "ai" else {}
    return [call["id"] or "" for kind in ("tool_calls", "invalid_tool_calls") for call in data.get(kind) or []]


def dependents(path: Sequence[Message], target: Message) -> set[str]:
    """The ids of the messages after `target` that depend on it."""
    seen = _Seen()
    found: set[str] = set()
    for message in path:
        depends = message.depth > target.depth and seen.depends(message)
        seen.note(message, depends=depends or message.id == target.id)
        if depends:
            found.add(message.id)
    return found


@dataclass
class _Seen:
    """What is known of the messages so far."""

    touched: set[str] = field(default_factory=set)  # agents in whose memory something depends
    calls: dict[_Call, bool] = field(default_factory=dict)  # of each agent's last answer that calls: does it depend?
    answers: dict[_Call, bool] = field(default_factory=dict)  # of other agents to such calls: does the last one depend?
    answering: dict[str, _Call] = field(default_factory=dict)  # what each agent was asked last

    def depends(self, message: Message) -> bool:
        """A result depends on its call and on who answered it, and not on the results beside it."""
        if message.type == "tool":
            call = (message.agent, message.body["data"].get("tool_call_id") or "")
            if call in self.calls:
                return self.calls[call] or self.answers.get(call, False)
        elif (asking := asked(message)) in self.calls:
            return self.calls[asking]
        return message.agent in self.touched

    def note(self, message: Message, *, depends: bool) -> None:
        if made := calls(message):
            for known in (self.calls, self.answers):
                for call in [call for call in known if call[0] == message.agent]:
                    del known[call]
            self.calls.update({(message.agent, identifier): depends for identifier in made})
        if (asking := asked(message)) is not None:
            self.answering[message.agent] = asking
        if message.agent in self.answering:
            self.answers[self.answering[message.agent]] = depends
        if depends:
            self.touched.add(message.agent)
