"""A move as it is made: its sizes, for its mark, and its event, for listeners."""

from dataclasses import replace
from time import time_ns

from agent.context.numbering import NumberStyle, format_number
from agent.context.tokens import estimate_tokens, sum_stored_tokens
from agent.marks import MoveMark
from agent.time_travel.move_paths import MovePath
from agent.time_travel.moves import Move
from agent.time_travel.policy import TimeTravelEvent
from checkpoints import MAIN, Message, Run


def sum_removed_tokens(move: Move, path: MovePath, agent: str, first: int = 0) -> int:
    """Estimate the tokens that a move removes from an agent's request. The request begins at depth `first`."""
    if move.dropped_ids is None:
        return path.sum_tokens(agent, max(first, move.kept_count), path.length)
    removed = list_scattered_messages(move, path)
    return sum_stored_tokens((message for message in removed if message.depth >= first), agent)


def list_scattered_messages(move: Move, path: MovePath) -> list[Message]:
    """List the messages that a move removes from between others."""
    later, removed = path.list_from(move.kept_count), {move.target.id, *(move.dropped_ids or ())}
    return [message for message in later if message.id in removed]


def estimate_added_tokens(move: Move, agent: str) -> int:
    """Estimate the tokens of a move's new message in an agent's request."""
    return estimate_tokens(move.build_message()) if move.agent == agent else 0


def complete_mark(move: Move, path: MovePath, agent: str = MAIN) -> MoveMark:
    """Return a move's mark with its sizes in an agent's request, for the path of the move.

    Contiguous messages get their place.
    """
    before = sum_removed_tokens(move, path, agent)
    mark = replace(move.mark, before=before, after=estimate_added_tokens(move, agent))
    if move.dropped_ids is not None:
        return mark
    last = path.get(path.length - 1)
    return replace(mark, last=last.id, head=last.id)


def build_move_event(run: Run, move: Move, agent: str = MAIN) -> TimeTravelEvent:
    """Return the event of an agent's move. Its positions are the agent's own positions."""
    return TimeTravelEvent(
        thread_id=run.thread_id,
        run_id=run.id,
        kind=move.kind,
        timestamp_ns=time_ns(),
        call_position=move.call_position,
        target_position=move.target.depth,
        removed_count=move.mark.removed,
        tokens_saved=move.mark.before - move.mark.after,
        reason=move.reason,
        sources=move.mark.sources,
        agent=agent,
    )


def format_checkpoint_line(name: str, position: int, description: str, numbers: NumberStyle) -> str:
    """Return a checkpoint as a line of the model's list."""
    place = "" if numbers == "off" else f" ({format_number(position, numbers)})"
    return f"{name}{place}: {description or 'no description'}"
