"""What on a path rests on a message: what every agent said since that could have come from it. Pure functions.

An agent knows its own messages and nothing else. So what follows in its memory depends on the message, and what others
were asked by that or were answered with it, and what they said after that, to any depth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from checkpoints import MAIN, Message

QUESTION_MARK = (
    "asked"  # in a question's additional_kwargs: {"call": the id of the call that asks it, "by": the agent that made it}
)
_CallKey = tuple[str, str]  # the agent that makes it, and its id there


def read_question_mark(message: Message) -> _CallKey | None:
    """Which call a message puts to its agent as a question; None for any other message."""
    marks = (message.body["data"].get("additional_kwargs") or {}).get(QUESTION_MARK) if message.agent != MAIN else None
    if message.type != "human" or not isinstance(marks, dict):
        return None
    by, call = marks.get("by"), marks.get("call")
    return (by, call) if isinstance(by, str) and isinstance(call, str) else None


def list_call_ids(message: Message) -> list[str]:
    """The ids of the calls that an answer makes."""
    data = message.body["data"] if message.type == "ai" else {}
    return [call["id"] or "" for kind in ("tool_calls", "invalid_tool_calls") for call in data.get(kind) or []]


def find_dependents(path: Sequence[Message], target: Message) -> set[str]:
    """The ids of the messages after `target` that depend on it."""
    seen = _DependenceTracker()
    found: set[str] = set()
    for message in path:
        depends = message.depth > target.depth and seen.is_dependent(message)
        seen.note_message(message, depends=depends or message.id == target.id)
        if depends:
            found.add(message.id)
    return found


@dataclass
class _DependenceTracker:
    """What is known of the messages so far."""

    dependent_agents: set[str] = field(default_factory=set)  # agents in whose memory something depends
    calls: dict[_CallKey, bool] = field(default_factory=dict)  # of each agent's last answer that calls: does it depend?
    answers: dict[_CallKey, bool] = field(default_factory=dict)  # of other agents to such calls: does the last one depend?
    answering: dict[str, _CallKey] = field(default_factory=dict)  # what each agent was asked last

    def is_dependent(self, message: Message) -> bool:
        """A result depends on its call and on who answered it, and not on the results beside it."""
        if message.type == "tool":
            call = (message.agent, message.body["data"].get("tool_call_id") or "")
            if call in self.calls:
                return self.calls[call] or self.answers.get(call, False)
        elif (asking := read_question_mark(message)) in self.calls:
            return self.calls[asking]
        return message.agent in self.dependent_agents

    def note_message(self, message: Message, *, depends: bool) -> None:
        if made := list_call_ids(message):
            for known in (self.calls, self.answers):
                for call in [call for call in known if call[0] == message.agent]:
                    del known[call]
            self.calls.update({(message.agent, identifier): depends for identifier in made})
        if (asking := read_question_mark(message)) is not None:
            self.answering[message.agent] = asking
        if message.agent in self.answering:
            self.answers[self.answering[message.agent]] = depends
        if depends:
            self.dependent_agents.add(message.agent)
