"""Planning of the agent's moves: `goto` a message with a summary, `rewind` an answer to another one.

The functions are pure. They take a path and a request, and return a move or raise a `MoveRefused` that tells the model how
to proceed. The executor makes the move in the store.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall

from agent.time_travel.dependence import find_dependents
from agent.time_travel.notes import TIME_TRAVEL_MARK, format_note
from agent.tools.calculator import calculator
from agent.tools.time_travel import MOVE_TOOLS, save_checkpoint
from checkpoints import MAIN, Message, files, serde

MAX_SOURCES = 20
# These tools return no external text. A list of checkpoints does: a file may have named them.
_TRUSTED_TOOLS = frozenset(tool.name for tool in (*MOVE_TOOLS, save_checkpoint, calculator))
MAX_NOTE_CHARS = 20_000  # characters
_POSITION = re.compile(r"\[msg_(0|[1-9][0-9]{0,8})\]|(?:msg_)?(0|[1-9][0-9]{0,8})", re.ASCII)


class MoveRefused(Exception):
    """A refused move that changed nothing. Its text gives the model the reason and the way to proceed."""


@dataclass(frozen=True, slots=True)
class Move:
    """The new position of the head and the message that is written there, after `parent_id` (None: as the first one)."""

    kind: Literal["goto", "rewind"]
    parent_id: str | None
    message: BaseMessage
    target: Message  # the message that the call names
    call_position: int  # of the answer with the call
    kept_count: int  # messages that stay on the path
    removed_count: int  # messages that leave the path
    reason: str  # the agent's text
    agent: str = MAIN  # the author of the new message
    dropped_ids: frozenset[str] | None = None  # the removed messages after the target; None: all


def plan_move(
    call: ToolCall, path: Sequence[Message], checkpoint_positions: Mapping[str, int], origins: Sequence[str] = ()
) -> Move:
    """Return the move that a call of the path's last answer requests.

    `checkpoint_positions` are positions by checkpoint name. `origins` name the sources of messages that no run wrote. Raises
    `MoveRefused`.
    """
    arguments = call["args"]
    calling_answer = next(message for message in reversed(path) if message.type == "ai" and message.agent == MAIN)
    if call["name"] == "rewind":
        agent, keep = str(arguments.get("agent") or MAIN), arguments.get("keep_independent") is True
        content = str(arguments.get("content", ""))
        more: Any = {"agent": agent, "call_position": calling_answer.depth, "keep_independent": keep, "origins": origins}
        return plan_rewind(path, arguments.get("n"), content, **more)
    position, keep = arguments.get("position"), arguments.get("keep_target", True) is not False
    if isinstance(position, str) and not _POSITION.fullmatch(position.strip()):  # a name never hides a number
        position = checkpoint_positions.get(position, position)
    note = str(arguments.get("message", ""))
    move = plan_goto(path, position, note, call_position=calling_answer.depth, keep_target=keep, origins=origins)
    if move.target.depth == _find_last_target(path):
        raise MoveRefused(
            "You have just gone back to the very same place. Go on from here, or tell the user what is missing."
        )
    return move


def plan_goto(
    path: Sequence[Message],
    position: object,
    note: str,
    *,
    keep_target: bool = True,
    call_position: int | None = None,
    origins: Sequence[str] = (),
) -> Move:
    """Return the move to a message of the path.

    `call_position` is the position of the answer with the call (None: the last message); `origins` as for `plan_move`.
    Raises `MoveRefused`.
    """
    call_position = path[-1].depth if call_position is None else call_position
    target = path[_parse_position(position, call_position)]
    if not note.strip():
        raise MoveRefused("The message is empty: write what should be known after going back.")
    if len(note) > MAX_NOTE_CHARS:
        raise MoveRefused(f"The message is too long: at most {MAX_NOTE_CHARS:,} characters.")
    kept = target.depth + 1 if keep_target else target.depth
    removed = len(path) - kept
    sources = find_sources(path[:call_position], origins)
    marks = {"kind": "goto", "to": target.depth, "removed": removed, "sources": sources}
    text = format_note(target, removed, note, keep_target=keep_target)
    message = HumanMessage(text, additional_kwargs={TIME_TRAVEL_MARK: marks})
    after = target.id if keep_target else target.parent_id
    return Move("goto", after, message, target, call_position, kept, removed, note.strip())


def plan_rewind(
    path: Sequence[Message],
    n: object,
    content: str,
    *,
    agent: str = MAIN,
    call_position: int | None = None,
    keep_independent: bool = False,
    origins: Sequence[str] = (),
) -> Move:
    """Return the move that replaces an agent's n-th answer with `content`.

    `call_position` and `origins` as for `plan_goto`. With `keep_independent`, messages that do not depend on the old answer
    stay. Raises `MoveRefused`.
    """
    call_position = path[-1].depth if call_position is None else call_position
    answers = [message for message in path[:call_position] if _is_agent_answer(message, agent)]
    if not isinstance(n, int) or isinstance(n, bool) or n == 0 or abs(n) > len(answers):
        raise MoveRefused(_describe_odd_n(n, len(answers), agent))
    if not content.strip():
        raise MoveRefused("The content is empty: write the answer that should stand there.")
    target = answers[n - 1 if n > 0 else n]
    # The messages of the call itself leave as well, even if they do not depend on the old answer.
    call_messages = {message.id for message in path[call_position:]}
    dropped = frozenset(find_dependents(path, target) | call_messages) if keep_independent else None
    removed = len(path) - target.depth if dropped is None else 1 + len(dropped)
    sources = find_sources(path[:call_position], origins)
    marks = {"kind": "rewind", "to": target.depth, "removed": removed, "sources": sources}
    answer = AIMessage(content, additional_kwargs={TIME_TRAVEL_MARK: marks})
    reason = content.strip()
    return Move("rewind", target.parent_id, answer, target, call_position, target.depth, removed, reason, agent, dropped)


def _describe_odd_n(n: object, answer_count: int, agent: str) -> str:
    whose = "" if agent == MAIN else f" of {agent[:40]}"
    if not answer_count:
        return f"No answer{whose} can be replaced: there is none yet. Nothing was changed."
    choices = f"n goes from 1 to {answer_count}, or from -1 back to -{answer_count}"
    if isinstance(n, bool) or not isinstance(n, int):
        return f"n must be a whole number, without quotes: {choices}{whose}. It was {_quote_json(n)}. Nothing was changed."
    return f"There is no answer {n}{whose}: {choices}. Nothing was changed."


def find_sources(messages: Sequence[Message], origins: Sequence[str] = ()) -> list[str]:
    """Return the external sources among the messages, the nearest to their end first.

    A text that is written after them may come from them. Sources are tools, attached files, origins of imported messages,
    and the sources of earlier notes.
    """
    found: dict[str, None] = {}
    for message in reversed(messages):
        data = message.body["data"]
        if message.type == "tool" and data.get("name") not in _TRUSTED_TOOLS:
            found[str(data.get("name") or "a tool")] = None
        found.update(dict.fromkeys(str(part["name"]) for part in files.find_file_parts(data.get("content"))))
        for mark in (data.get("additional_kwargs") or {}).values():
            found.update(dict.fromkeys(read_sources(mark)))
        if message.run_id is None:
            found.update(dict.fromkeys(origins))
    return list(found)[:MAX_SOURCES]


def read_sources(marks: object) -> list[str]:
    """Return the sources that a note names. The note may come from a file, and its mark may hold any value."""
    named = marks.get("sources") if isinstance(marks, dict) else None
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def _find_last_target(path: Sequence[Message]) -> int | None:
    """Return the target of the agent's last move, if no message of the user followed it."""
    last = next((message for message in reversed(path) if message.type == "human" and message.agent == MAIN), None)
    marks = (last.body["data"].get("additional_kwargs") or {}).get(TIME_TRAVEL_MARK) if last else None
    return marks.get("to") if isinstance(marks, dict) else None


def _parse_position(position: object, call_position: int) -> int:
    """Return the position that the model named. Only plain ASCII decimals count, as 3, msg_3 or [msg_3]."""
    valid = f"Valid are msg_0 to msg_{call_position - 1}" if call_position else "There is no earlier message"
    found = _POSITION.fullmatch(str(position).strip()) if isinstance(position, (str, int)) else None
    if found is None or isinstance(position, bool):
        raise MoveRefused(
            f"{_quote_value(position)} is not a message number of the form msg_N. {valid}. Nothing was changed."
        )
    index = int(found[1] or found[2])
    if index == call_position:
        raise MoveRefused(
            f"msg_{index} is at the current point: there is nothing to go back over. {valid}. Nothing was changed."
        )
    if index > call_position:
        raise MoveRefused(f"There is no msg_{index}. {valid}. Nothing was changed.")
    return index


def _is_agent_answer(message: Message, agent: str) -> bool:
    """Return whether a message is an agent's final answer, without tool calls."""
    data = message.body["data"]
    called = data.get("tool_calls") or data.get("invalid_tool_calls")
    return message.type == "ai" and message.agent == agent and not called


def _quote_json(value: object) -> str:
    """Return an argument as the model wrote it, in JSON."""
    return serde.to_canonical(value)[:40]


def _quote_value(value: Any) -> str:
    return repr(str(value)[:40])
