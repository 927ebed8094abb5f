"""The moves among the calls that wait for a person, and the messages that each would remove."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from langchain_core.messages import AIMessage, ToolCall

from agent.context.measurement import Context, TokenChange, estimate_change
from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle
from agent.context.tokens import estimate_tokens
from agent.time_travel.executor import describe_origins
from agent.time_travel.moves import Move, MoveRefused, plan_move
from agent.time_travel.protocol import MOVE_NAMES
from checkpoints import MAIN, Checkpoint, Message, Removal, Store


@dataclass(frozen=True, slots=True)
class WaitingMove:
    """A move that waits for a person, and what it would remove from the path."""

    move: Move
    removal: Removal
    tokens: TokenChange


def find_waiting_moves(
    store: Store, thread_id: str, load_context: Callable[[], Context | None], numbers: NumberStyle = DEFAULT_NUMBERS
) -> dict[str, WaitingMove]:
    """Return the moves of the last answer by the ids of their calls, without those that would be refused."""
    path = store.list_messages(thread_id)
    calls = _find_move_calls(path)
    context = load_context() if calls else None
    if context is None:
        return {}
    checkpoints, depths = store.list_checkpoints(thread_id), store.map_checkpoint_depths(thread_id)
    origins = describe_origins(store, thread_id)
    found: dict[str, WaitingMove] = {}
    for call in calls:
        with suppress(MoveRefused):
            move = plan_move(call, path, depths, origins, numbers)
            found[call["id"] or ""] = _measure_move(move, path, checkpoints, context)
    return found


def _find_move_calls(path: Sequence[Message]) -> list[ToolCall]:
    """Return the calls of the main agent's last answer that ask for a move."""
    last = next((message for message in reversed(path) if message.type == "ai" and message.agent == MAIN), None)
    answer = last.langchain if last and not last.damaged else None
    return [call for call in answer.tool_calls if call["name"] in MOVE_NAMES] if isinstance(answer, AIMessage) else []


def _measure_move(move: Move, path: Sequence[Message], checkpoints: Sequence[Checkpoint], context: Context) -> WaitingMove:
    later = sum(checkpoint.message_count > move.kept_count for checkpoint in checkpoints)
    removed = path[move.kept_count :]
    if move.dropped_ids is not None:
        removed = [message for message in removed if message.id in {move.target.id, *move.dropped_ids}]
    agents = tuple(sorted({message.agent for message in removed} - {MAIN}))
    added_tokens = estimate_tokens(move.build_message()) if move.agent == MAIN else 0
    tokens = estimate_change(context, path, {message.id for message in removed}, added_tokens)
    return WaitingMove(move, Removal(move.mark.removed, later, agents), tokens)
