"""Plans the agent's moves: `goto` a message with a summary, `rewind` an answer to another answer.

The functions take a path, which reads the messages they ask for, and a request. They return a move, or raise a
`MoveRefused` that tells the model how to proceed. The executor makes the move in the store.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall

from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle, format_number
from agent.marks import ExcerptMark, MoveKind, MoveMark, SummaryMark
from agent.time_travel.dependence import find_dependents
from agent.time_travel.move_paths import MovePath
from agent.time_travel.notes import format_note
from agent.tools.names import CALCULATOR, MOVE_NAMES, SAVE_CHECKPOINT
from checkpoints import MAIN, Message
from checkpoints.values import files, serde
from checkpoints.values.limits import MAX_NUMBER

MAX_SOURCES = 20
# The source if so many messages are from outside that not all are searched.
EARLIER_SOURCES = "earlier messages"
# Messages after a replaced answer. Messages that stay are written again.
MAX_KEPT_AFTER = 1_000
# Messages from the question to a replaced answer. They are read to find what depends on it.
MAX_KEPT_BEFORE = 1_000
# These tools return no external text. A list of checkpoints does, since a file may have named them.
_TRUSTED_TOOLS = MOVE_NAMES | {SAVE_CHECKPOINT, CALCULATOR}
MAX_NOTE_CHARS = 20_000
_POSITION = re.compile(r"\[m(?:sg_)?(0|[1-9][0-9]{0,8})\]|(?:m(?:sg_)?)?(0|[1-9][0-9]{0,8})", re.ASCII)


@dataclass(frozen=True, slots=True)
class MoveScope:
    """The messages in which an agent may move: the path for the main agent, its own memory for a sub-agent."""

    agent: str
    path: MovePath
    # Returns the positions of checkpoints by name.
    map_checkpoints: Callable[[], Mapping[str, int]]
    # The sources of messages that no run wrote.
    origins: Sequence[str]
    # How the model sees the numbers of messages.
    numbers: NumberStyle = DEFAULT_NUMBERS


class MoveRefused(Exception):
    """A refused move that changed nothing. Its text gives the model the reason and the way to proceed."""


@dataclass(frozen=True, slots=True)
class Move:
    """The new position of the head, and the new message there after `parent_id` (None: as the first message)."""

    mark: MoveMark
    parent_id: str | None
    # The text of the new message.
    text: str
    # The message that the call names, and the position of the answer with the call.
    target: Message
    call_position: int
    # Number of messages that stay on the path.
    kept_count: int
    # The agent's text.
    reason: str
    # The author of the new message.
    agent: str = MAIN
    # The removed messages after the target. None: all.
    dropped_ids: frozenset[str] | None = None

    @property
    def kind(self) -> MoveKind:
        return self.mark.kind

    def build_message(self) -> BaseMessage:
        """Build the note of a goto, or the new answer of a rewind."""
        message_type = HumanMessage if self.kind == "goto" else AIMessage
        return message_type(self.text, additional_kwargs=self.mark.to_kwargs())


def plan_move(call: ToolCall, scope: MoveScope) -> Move:
    """Return the move that a call of the scope's last answer requests. Raises `MoveRefused`."""
    arguments, path, origins, numbers = call["args"], scope.path, scope.origins, scope.numbers
    newest = path.iterate_back(path.length)
    calling_answer = next(message for message in newest if message.type == "ai" and message.agent == scope.agent)
    if call["name"] == "rewind":
        agent, keep = str(arguments.get("agent") or scope.agent), arguments.get("keep_independent") is True
        if agent != scope.agent != MAIN:
            raise MoveRefused("Only your own answers can be replaced: leave out `agent`. Nothing was changed.")
        content = str(arguments.get("content", ""))
        return plan_rewind(
            path,
            arguments.get("n"),
            content,
            agent=agent,
            call_position=calling_answer.depth,
            # A memory depends on all earlier messages.
            keep_independent=keep and scope.agent == MAIN,
            origins=origins,
        )
    position, keep = arguments.get("position"), arguments.get("keep_target", True) is not False
    if isinstance(position, str) and (numbers == "off" or not _POSITION.fullmatch(position.strip())):
        # A checkpoint's name never hides a number that the model sees.
        position = scope.map_checkpoints().get(position, position)
    move = plan_goto(
        path,
        position,
        str(arguments.get("message", "")),
        call_position=calling_answer.depth,
        keep_target=keep,
        origins=origins,
        numbers=numbers,
    )
    if move.target.depth == _find_last_target(path, scope.agent):
        raise MoveRefused(
            "You have just gone back to the very same place. Go on from here, or tell the user what is missing."
        )
    return move


def plan_goto(
    path: MovePath,
    position: object,
    note: str,
    *,
    keep_target: bool = True,
    call_position: int | None = None,
    origins: Sequence[str] = (),
    numbers: NumberStyle = DEFAULT_NUMBERS,
) -> Move:
    """Return the move to a message of the path.

    `call_position` is the position of the answer with the call (None: the last message). `origins` name the sources of
    messages that no run wrote, and `numbers` is the style in which the model sees message numbers. Raises `MoveRefused`.
    """
    call_position = path.length - 1 if call_position is None else call_position
    target = path.get(_parse_position(position, call_position, numbers))
    if not note.strip():
        raise MoveRefused("The message is empty: write what should be known after going back.")
    if len(note) > MAX_NOTE_CHARS:
        raise MoveRefused(f"The message is too long: at most {MAX_NOTE_CHARS:,} characters.")
    kept_count = target.depth + 1 if keep_target else target.depth
    removed_count = path.length - kept_count
    mark = MoveMark("goto", target.depth, removed_count, find_path_sources(path, call_position, origins))
    text = format_note(target, removed_count, note, keep_target=keep_target, numbers=numbers)
    after = target.id if keep_target else target.parent_id
    return Move(mark, after, text, target, call_position, kept_count, note.strip())


def plan_rewind(
    path: MovePath,
    n: object,
    content: str,
    *,
    agent: str = MAIN,
    call_position: int | None = None,
    keep_independent: bool = False,
    origins: Sequence[str] = (),
) -> Move:
    """Return the move that replaces an agent's n-th answer with `content`.

    `call_position` and `origins` are as in `plan_goto`. With `keep_independent`, messages that do not depend on the old
    answer stay. Raises `MoveRefused`.
    """
    call_position = path.length - 1 if call_position is None else call_position
    number = n if isinstance(n, int) and not isinstance(n, bool) and abs(n) <= MAX_NUMBER else 0
    target = path.find_answer(agent, number, call_position) if number else None
    if target is None:
        raise MoveRefused(_describe_odd_n(n, path.count_answers(agent, call_position), agent))
    if not content.strip():
        raise MoveRefused("The content is empty: write the answer that should stand there.")
    dropped_ids = _find_dropped_ids(path, target, call_position) if keep_independent else None
    removed_count = path.length - target.depth if dropped_ids is None else 1 + len(dropped_ids)
    mark = MoveMark("rewind", target.depth, removed_count, find_path_sources(path, call_position, origins))
    kept_count, reason = target.depth, content.strip()
    return Move(mark, target.parent_id, content, target, call_position, kept_count, reason, agent, dropped_ids)


def _describe_odd_n(n: object, answer_count: int, agent: str) -> str:
    author_clause = "" if agent == MAIN else f" of {agent[:40]}"
    if not answer_count:
        return f"No answer{author_clause} can be replaced: there is none yet. Nothing was changed."
    choices = f"n goes from 1 to {answer_count}, or from -1 back to -{answer_count}"
    if isinstance(n, bool) or not isinstance(n, int):
        rule = f"n must be a whole number, without quotes: {choices}{author_clause}."
        return f"{rule} It was {_quote_json(n)}. Nothing was changed."
    return f"There is no answer {n}{author_clause}: {choices}. Nothing was changed."


def _find_dropped_ids(path: MovePath, target: Message, call_position: int) -> frozenset[str]:
    """Return the ids of the messages to drop after an answer, read from the answer's turn on. Raises `MoveRefused`."""
    if path.length - target.depth > MAX_KEPT_AFTER:
        raise MoveRefused(
            f"More than {MAX_KEPT_AFTER:,} messages follow this answer: leave out `keep_independent`. Nothing was changed."
        )
    question = path.find_question(MAIN, target.depth) or 0
    if target.depth - question > MAX_KEPT_BEFORE:
        raise MoveRefused(
            f"More than {MAX_KEPT_BEFORE:,} messages come before this answer since its question: leave out "
            "`keep_independent`. Nothing was changed."
        )
    turn = path.list_from(question)
    # The messages of the call itself leave as well, even if they do not depend on the old answer.
    call_messages = {message.id for message in turn if message.depth >= call_position}
    return frozenset(find_dependents(turn, target) | call_messages)


def find_path_sources(path: MovePath, before: int, origins: Sequence[str]) -> tuple[str, ...]:
    """Return the external sources among the messages below a depth, by the rule of `find_sources`."""
    messages, is_whole = path.list_outside(before, has_origins=bool(origins))
    sources = find_sources(messages, origins)
    return sources if is_whole or len(sources) == MAX_SOURCES else (*sources, EARLIER_SOURCES)


def find_sources(messages: Sequence[Message], origins: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the external sources among the messages, the last source first.

    A later text may come from these messages. Sources are tools, attached files, origins of imported messages, and the
    sources of earlier notes.
    """
    sources: dict[str, None] = {}
    for message in reversed(messages):
        data = message.body["data"]
        if message.type == "tool" and data.get("name") not in _TRUSTED_TOOLS:
            sources[str(data.get("name") or "a tool")] = None
        sources.update(dict.fromkeys(str(part["name"]) for part in files.find_file_parts(data.get("content"))))
        for mark in (MoveMark.of(message), SummaryMark.of(message), ExcerptMark.of(message)):
            sources.update(dict.fromkeys(mark.sources if mark else ()))
        if message.run_id is None:
            sources.update(dict.fromkeys(origins))
    return tuple(sources)[:MAX_SOURCES]


def _find_last_target(path: MovePath, agent: str) -> int | None:
    """Return the target of the agent's last move, if no message to it followed."""
    last = path.find_question(agent, path.length)
    mark = None if last is None else MoveMark.of(path.get(last))
    return mark.position if mark else None


def _parse_position(named: object, call_position: int, numbers: NumberStyle) -> int:
    """Return the position that the model named. Only plain ASCII decimals count, as 3, m3, msg_3 or [msg_3]."""
    match = _POSITION.fullmatch(str(named).strip()) if isinstance(named, (str, int)) else None
    position = None if match is None or isinstance(named, bool) else int(match[1] or match[2])
    if position is not None and position < call_position:
        return position
    raise MoveRefused(f"{_describe_odd_position(named, position, call_position, numbers)} Nothing was changed.")


def _describe_odd_position(named: object, position: int | None, call_position: int, numbers: NumberStyle) -> str:
    if numbers == "off":
        reason = "is at the current point" if position == call_position else "is not the name of a checkpoint"
        return f"{_quote_value(named)} {reason}. Valid are the names of earlier checkpoints."
    first, last = format_number(0, numbers), format_number(call_position - 1, numbers)
    valid = f"Valid are {first} to {last}." if call_position else "There is no earlier message."
    if position is None:
        return f"{_quote_value(named)} is not a message number of the form {first[:-1]}N. {valid}"
    number = format_number(position, numbers)
    if position == call_position:
        return f"{number} is at the current point: there is nothing to go back over. {valid}"
    return f"There is no {number}. {valid}"


def _quote_json(value: object) -> str:
    """Return an argument as the model wrote it, in JSON."""
    return serde.to_canonical(value)[:40]


def _quote_value(value: Any) -> str:
    return repr(str(value)[:40])
