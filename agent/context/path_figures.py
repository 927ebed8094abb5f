"""Figures of messages: tokens and costs of answers by model, the called tools, and the time."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.context.prices import Prices, Usage, read_usage
from checkpoints import MAIN, Message
from checkpoints.values.answer_spec import read_spec


@dataclass(frozen=True, slots=True)
class PathFigures:
    """Figures of consecutive messages, including the work of sub-agents."""

    answers: int = 0
    # Sum over the turns of the time from each question to the turn's last message.
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    # Keys are specs, empty if the spec is unknown.
    usage_by_model: Mapping[str, Usage] = field(default_factory=dict)
    # Numbers of calls by tool name.
    calls: Mapping[str, int] = field(default_factory=dict)


def begins_turn(message: Message) -> bool:
    """Return whether a message begins a turn, as a person's message or a note."""
    return message.type == "human" and message.agent == MAIN


def split_turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Split messages before each question. The first part may begin with an answer."""
    turns: list[list[Message]] = []
    for message in messages:
        if not turns or begins_turn(message):
            turns.append([])
        turns[-1].append(message)
    return turns


def measure_figures(messages: Sequence[Message], prices: Prices) -> PathFigures:
    """Sum the figures of consecutive messages. It builds no LangChain message, since a long path has thousands."""
    by_model: dict[str, Usage] = {}
    for message in messages:
        if (usage := read_usage(message, prices)) is not None:
            spec = read_spec(message.body["data"].get("response_metadata"))
            by_model[spec] = by_model.get(spec, Usage()) + usage
    return PathFigures(
        answers=sum(message.type == "ai" for message in messages),
        seconds=sum(map(_measure_seconds, split_turns(messages))),
        usage=sum(by_model.values(), Usage()),
        usage_by_model=by_model,
        calls=Counter(_list_call_names(messages)),
    )


def _measure_seconds(turn: Sequence[Message]) -> float:
    return max(0.0, (turn[-1].created_at - turn[0].created_at).total_seconds())


def _list_call_names(messages: Iterable[Message]) -> list[str]:
    """Return the names of all calls. A file may hold any value in their place."""
    calls = (message.body["data"].get("tool_calls") for message in messages)
    return [str(call.get("name")) for each in calls if isinstance(each, list) for call in each if isinstance(call, dict)]
