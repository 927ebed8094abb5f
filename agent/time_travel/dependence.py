"""The messages of a path that depend on one message. Pure functions.

An agent knows only its own messages, so all later messages in its memory depend on the message. So do questions and
results from those messages, and the messages after them in other memories, to any depth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.marks import CallKey, QuestionMark
from checkpoints import Message


def list_call_ids(message: Message) -> list[str]:
    """Return the ids of the calls in an answer."""
    data = message.body["data"] if message.type == "ai" else {}
    return [call["id"] or "" for kind in ("tool_calls", "invalid_tool_calls") for call in data.get(kind) or []]


def find_dependents(path: Sequence[Message], target: Message) -> set[str]:
    """Return the ids of the later messages that depend on `target`."""
    tracker = _DependenceTracker()
    dependents: set[str] = set()
    for message in path:
        is_dependent = message.depth > target.depth and tracker.is_dependent(message)
        tracker.note_message(message, is_dependent=is_dependent or message.id == target.id)
        if is_dependent:
            dependents.add(message.id)
    return dependents


@dataclass
class _DependenceTracker:
    """Tracks which messages so far depend on the target."""

    # Agents whose memory holds a dependent message.
    dependent_agents: set[str] = field(default_factory=set)
    # The calls in each agent's last answer with calls, and other agents' last answers to them: whether each depends.
    calls: dict[CallKey, bool] = field(default_factory=dict)
    answers: dict[CallKey, bool] = field(default_factory=dict)
    # The last question to each agent.
    answering: dict[str, CallKey] = field(default_factory=dict)

    def is_dependent(self, message: Message) -> bool:
        """Return whether a message depends on the target.

        A result depends on its call and on the answering agent, but not on neighbouring results.
        """
        if message.type == "tool":
            call = CallKey(message.agent, message.body["data"].get("tool_call_id") or "")
            if call in self.calls:
                return self.calls[call] or self.answers.get(call, False)
        elif (question := QuestionMark.of(message)) is not None and question.call in self.calls:
            return self.calls[question.call]
        return message.agent in self.dependent_agents

    def note_message(self, message: Message, *, is_dependent: bool) -> None:
        if call_ids := list_call_ids(message):
            for dependences in (self.calls, self.answers):
                for call in [call for call in dependences if call.agent == message.agent]:
                    del dependences[call]
            self.calls.update({CallKey(message.agent, identifier): is_dependent for identifier in call_ids})
        if (question := QuestionMark.of(message)) is not None:
            self.answering[message.agent] = question.call
        if message.agent in self.answering:
            self.answers[self.answering[message.agent]] = is_dependent
        if is_dependent:
            self.dependent_agents.add(message.agent)
