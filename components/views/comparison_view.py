"""Two continuations of a conversation side by side, turn by turn, with their figures. Pure: values in, plain JSON out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypedDict

from agent.context.path_figures import PathFigures, measure_figures, split_turns
from agent.context.prices import Prices, Usage
from checkpoints import Message
from checkpoints.values.limits import MAX_LABEL_CHARS
from components.views.message_view import MessageExtras, MessageView, describe_messages
from components.views.word_differences import DifferenceKind, Mark

# The limit applies to the names of tools, and of models.
MAX_SHOWN_TOOLS = 20
# Of two questions, this share of the words is common if one is the other edited. So many of the words are looked at.
MIN_COMMON_WORDS = 0.5
MAX_QUESTION_WORDS = 100


class ToolCount(TypedDict):
    name: str
    count: int


class ModelFigures(TypedDict):
    # It is empty for an unknown model.
    spec: str
    # The provider reported the usage of this many answers.
    answers: int
    cost: float | None


class FiguresView(TypedDict):
    answers: int
    input: int
    cached: int
    output: int
    reasoning: int
    # The cost is in US dollars; it is None if no answer has a price.
    cost: float | None
    # This many answers have no price, if others have a price.
    unpriced: int
    models: list[ModelFigures]
    tools: list[ToolCount]
    duration_ms: int


class ComparedMessage(MessageView):
    # It is the difference from the message beside it; None if there is no such message.
    difference: DifferenceKind | None


class TurnView(TypedDict):
    messages: list[ComparedMessage]
    figures: FiguresView


class SideView(TypedDict):
    # The position has this many messages after the shared messages.
    length: int
    # The figures count this many of them.
    counted: int
    # This many messages are left out.
    more: int
    figures: FiguresView
    turns: list[TurnView]


class Row(TypedDict):
    """Turns of both sides by their numbers: one of each with the same question, or all in between with other questions."""

    one: list[int]
    other: list[int]
    is_same: bool


@dataclass(frozen=True)
class Side:
    """A continuation: the messages to show, all messages that were read, and their full number."""

    shown: Sequence[Message]
    counted: Sequence[Message]
    length: int
    extras: MessageExtras


def describe_sides(sides: Sequence[Side], calling_messages: Sequence[Message], prices: Prices) -> list[SideView]:
    return [
        {
            "length": side.length,
            "counted": len(side.counted),
            "more": side.length - len(side.shown),
            "figures": describe_figures(measure_figures(side.counted, prices)),
            "turns": _describe_turns(side, calling_messages, prices),
        }
        for side in sides
    ]


def align_turns(sides: Sequence[SideView], mark: Mark) -> list[Row]:
    """Put turns with the same question, or with one that was edited, beside each other, and mark their differences."""
    one, other = (side["turns"] for side in sides)
    rows = _align_questions([_read_question(turn) for turn in one], [_read_question(turn) for turn in other])
    for row in rows:
        if row["is_same"]:
            _mark_pairs(one[row["one"][0]]["messages"], other[row["other"][0]]["messages"], mark)
    return rows


def _read_question(turn: TurnView) -> list[str]:
    """Return the words of a turn's question. The answer of a question that both sides share has none before it."""
    first = turn["messages"][0] if turn["messages"] else None
    return first["text"].casefold().split() if first is not None and first["role"] == "user" else []


def _align_questions(one: Sequence[list[str]], other: Sequence[list[str]]) -> list[Row]:
    keys = [[" ".join(words) for words in side] for side in (one, other)]
    rows: list[Row] = []
    for _tag, start, end, other_start, other_end in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        numbers, others = list(range(start, end)), list(range(other_start, other_end))
        while numbers and others and _is_same_question(one[numbers[0]], other[others[0]]):
            rows.append({"one": [numbers.pop(0)], "other": [others.pop(0)], "is_same": True})
        if numbers or others:
            rows.append({"one": numbers, "other": others, "is_same": False})
    return rows


def _is_same_question(one: list[str], other: list[str]) -> bool:
    """Return whether two questions are the same, or one is the other edited: at least half of their words are common."""
    begin, other_begin = one[:MAX_QUESTION_WORDS], other[:MAX_QUESTION_WORDS]
    return one == other or SequenceMatcher(None, begin, other_begin, autojunk=False).ratio() >= MIN_COMMON_WORDS


def _describe_turns(side: Side, calling_messages: Sequence[Message], prices: Prices) -> list[TurnView]:
    """Describe the turns of a side. A shared call comes first if only this side has some of its results."""
    views = describe_messages([*calling_messages, *side.shown], side.extras) if side.shown else []
    numbers: dict[str, int] = {}
    turns = split_turns(side.shown)
    for number, turn in enumerate(turns):
        numbers.update((message.id, number) for message in turn)
    described: list[TurnView] = [
        {"messages": [], "figures": describe_figures(measure_figures(turn, prices))} for turn in turns
    ]
    for view in views:
        described[numbers.get(view["id"], 0)]["messages"].append({**view, "difference": None})
    return described


def _mark_pairs(one: list[ComparedMessage], other: list[ComparedMessage], mark: Mark) -> None:
    """Mark the differences between the questions of two turns, and between their last answers."""
    for first, second in _pair_messages(one, other):
        marked = mark(first["html"], second["html"])
        first["html"], second["html"] = marked.one, marked.other
        first["difference"] = second["difference"] = marked.kind


def _pair_messages(
    one: list[ComparedMessage], other: list[ComparedMessage]
) -> Iterator[tuple[ComparedMessage, ComparedMessage]]:
    if one and other and one[0]["role"] == other[0]["role"] != "assistant":
        yield one[0], other[0]
    answers = [[each for each in side if each["role"] == "assistant" and each["html"]] for side in (one, other)]
    if all(answers):
        yield answers[0][-1], answers[1][-1]


def describe_figures(figures: PathFigures) -> FiguresView:
    usage = figures.usage
    return {
        "answers": figures.answers,
        "input": usage.input,
        "cached": usage.cached,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "cost": read_cost(usage),
        "unpriced": usage.answers - usage.priced,
        "models": describe_models(figures),
        "tools": [
            {"name": name[:MAX_LABEL_CHARS], "count": count} for name, count in list(figures.calls.items())[:MAX_SHOWN_TOOLS]
        ],
        "duration_ms": round(1000 * figures.seconds),
    }


def describe_models(figures: PathFigures) -> list[ModelFigures]:
    return [
        {"spec": spec[:MAX_LABEL_CHARS], "answers": usage.answers, "cost": read_cost(usage)}
        for spec, usage in list(figures.usage_by_model.items())[:MAX_SHOWN_TOOLS]
    ]


def read_cost(usage: Usage) -> float | None:
    """Return the cost of the answers with a price; None if none has a price."""
    return usage.cost if usage.priced else None
