"""A move that is made: its sizes, for its mark, and its event, for listeners."""

from collections.abc import Sequence
from dataclasses import replace
from time import time_ns

from agent.context.numbering import NumberStyle, format_number
from agent.context.tokens import estimate_tokens, sum_stored_tokens
from agent.marks import MoveMark
from agent.time_travel.moves import Move
from agent.time_travel.policy import TimeTravelEvent
from checkpoints import MAIN, Message, Run


def list_removed_messages(move: Move, later: Sequence[Message]) -> list[Message]:
    """List the messages that a move removes, given those after the kept ones."""
    if move.dropped_ids is None:
        return list(later)
    return [message for message in later if message.id in {move.target.id, *move.dropped_ids}]


def estimate_added_tokens(move: Move, agent: str) -> int:
    """Estimate the tokens that a move's new message takes in an agent's request."""
    return estimate_tokens(move.build_message()) if move.agent == agent else 0


def complete_mark(move: Move, later: Sequence[Message], agent: str = MAIN) -> MoveMark:
    """Return a move's mark with its sizes in an agent's request, given the messages after the kept ones.

    Contiguous messages get their place.
    """
    before = sum_stored_tokens(list_removed_messages(move, later), agent)
    mark = replace(move.mark, before=before, after=estimate_added_tokens(move, agent))
    return replace(mark, last=later[-1].id, head=later[-1].id) if move.dropped_ids is None else mark


def build_move_event(run: Run, move: Move, agent: str = MAIN) -> TimeTravelEvent:
    """Return the event of an agent's move. Its positions are those that the agent knows."""
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
    """Return a checkpoint as a line of the list that the model reads."""
    place = "" if numbers == "off" else f" ({format_number(position, numbers)})"
    return f"{name}{place}: {description or 'no description'}"
