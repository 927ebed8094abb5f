"""The messages of a path that depend on one message. Pure functions.

An agent knows only its own messages. So the messages after it in the same memory depend on it. So do questions and results
that come from those messages, and the messages that follow them in other memories, to any depth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from checkpoints import MAIN, Message

# In a question's additional_kwargs: {"call": the id of the call that asks it, "by": the agent that made the call}.
QUESTION_MARK = "asked"
_CallKey = tuple[str, str]  # the agent that makes it, and its id there


def read_question_mark(message: Message) -> _CallKey | None:
    """Return the call that a message puts to its agent as a question; None for any other message."""
    marks = (message.body["data"].get("additional_kwargs") or {}).get(QUESTION_MARK) if message.agent != MAIN else None
    if message.type != "human" or not isinstance(marks, dict):
        return None
    by, call = marks.get("by"), marks.get("call")
    return (by, call) if isinstance(by, str) and isinstance(call, str) else None


def list_call_ids(message: Message) -> list[str]:
    """Return the ids of the calls that an answer makes."""
    data = message.body["data"] if message.type == "ai" else {}
    return [call["id"] or "" for kind in ("tool_calls", "invalid_tool_calls") for call in data.get(kind) or []]


def find_dependents(path: Sequence[Message], target: Message) -> set[str]:
    """Return the ids of the messages after `target` that depend on it."""
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
    """The dependences among the messages so far."""

    dependent_agents: set[str] = field(default_factory=set)  # agents in whose memory something depends
    calls: dict[_CallKey, bool] = field(default_factory=dict)  # of each agent's last answer that calls: does it depend?
    answers: dict[_CallKey, bool] = field(default_factory=dict)  # of other agents to such calls: does the last one depend?
    answering: dict[str, _CallKey] = field(default_factory=dict)  # the last question to each agent

    def is_dependent(self, message: Message) -> bool:
        """Return whether a message depends on the target.

        A result depends on its call and on the answering agent, not on the results beside it.
        """
        if message.type == "tool":
            call = (message.agent, message.body["data"].get("tool_call_id") or "")
            if call in self.calls:
                return self.calls[call] or self.answers.get(call, False)
        elif (question := read_question_mark(message)) in self.calls:
            return self.calls[question]
        return message.agent in self.dependent_agents

    def note_message(self, message: Message, *, depends: bool) -> None:
        if call_ids := list_call_ids(message):
            for known in (self.calls, self.answers):
                for call in [call for call in known if call[0] == message.agent]:
                    del known[call]
            self.calls.update({(message.agent, identifier): depends for identifier in call_ids})
        if (question := read_question_mark(message)) is not None:
            self.answering[message.agent] = question
        if message.agent in self.answering:
            self.answers[self.answering[message.agent]] = depends
        if depends:
            self.dependent_agents.add(message.agent)
