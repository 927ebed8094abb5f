"""A move that is made: its sizes, for its mark, and its event, for listeners."""

from collections.abc import Sequence
from dataclasses import replace
from time import time_ns

from agent.context.numbering import NumberStyle, format_number
from agent.context.tokens import estimate_content, estimate_stored_tokens
from agent.marks import MoveMark
from agent.time_travel.moves import Move
from agent.time_travel.policy import TimeTravelEvent
from checkpoints import MAIN, Message, Run


def complete_mark(move: Move, later: Sequence[Message]) -> MoveMark:
    """Return a move's mark with its sizes, given the messages after the kept ones. Contiguous ones get their place."""
    mark = replace(move.mark, after=estimate_content(move.text))
    if move.dropped_ids is None:
        return replace(mark, before=sum(map(estimate_stored_tokens, later)), last=later[-1].id, head=later[-1].id)
    removed = [message for message in later if message.id in {move.target.id, *move.dropped_ids}]
    return replace(mark, before=sum(map(estimate_stored_tokens, removed)))


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


def describe_place(name: str, position: int, description: str, numbers: NumberStyle) -> str:
    """Return a checkpoint as a line of the list that the model reads."""
    place = "" if numbers == "off" else f" ({format_number(position, numbers)})"
    return f"{name}{place}: {description or 'no description'}"
