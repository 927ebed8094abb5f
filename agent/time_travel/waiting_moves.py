"""The moves among the calls waiting for a person, and the messages each would remove."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import dropwhile

from langchain_core.messages import ToolCall

from agent.context.measurement import Context, TokenChange
from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle
from agent.time_travel.made_moves import estimate_added_tokens, list_scattered_messages, sum_removed_tokens
from agent.time_travel.moves import Move, MoveRefused, MoveScope, plan_move
from agent.time_travel.scopes import load_scope
from agent.tools.decisions import find_unanswered_calls
from agent.tools.names import MOVE_NAMES
from checkpoints import MAIN, Message, Removal, Store
from checkpoints.values.limits import MAX_READ_VALUES


@dataclass(frozen=True, slots=True)
class WaitingMove:
    """A move waiting for a person, and what it would remove from the path, or from a sub-agent's memory."""

    # The agent that asks for the move.
    agent: str
    move: Move
    removal: Removal
    # The tokens of the next request, or of a sub-agent's memory.
    tokens: TokenChange


def find_waiting_moves(
    store: Store, thread_id: str, load_context: Callable[[], Context | None], numbers: NumberStyle = DEFAULT_NUMBERS
) -> dict[str, WaitingMove]:
    """Return the waiting moves of all agents by the ids of their calls, without refused moves.

    An agent's first move waits alone, since its later moves wait for it. Ids are unique among the calls of a run. Only
    the last turn is read, and from the agent's messages only those that its move needs.
    """
    found: dict[str, WaitingMove] = {}
    for agent, (call, *later_calls) in _find_move_calls(_read_last_turn(store, thread_id)).items():
        context = load_context() if agent == MAIN else None
        with suppress(MoveRefused), store.database.begin_read():
            scope = load_scope(store, thread_id, agent, numbers)
            waiting = _measure_move(store, thread_id, plan_move(call, scope), scope, context)
            # Right before the move, each later call gets a result, which the move then removes as well.
            removal = replace(waiting.removal, messages=waiting.removal.messages + len(later_calls))
            found[call["id"] or ""] = replace(waiting, removal=removal)
    return found


def _read_last_turn(store: Store, thread_id: str) -> list[Message]:
    """Return the messages since the last question to the main agent, which leaves no earlier call open.

    Of a longer turn, return the newest messages within MAX_READ_VALUES. The page shows some of them.
    """
    length = store.count_messages(thread_id)
    question = store.find_question(thread_id, MAIN, before=length) or 0
    return store.list_messages(thread_id, last=length - question, max_values=MAX_READ_VALUES)


def _find_move_calls(turn: Sequence[Message]) -> dict[str, list[ToolCall]]:
    """Return each agent's first open call for a move, with the open calls after it."""
    found: dict[str, list[ToolCall]] = {}
    last_answers = {message.agent: at for at, message in enumerate(turn) if message.type == "ai"}
    for agent, at in last_answers.items():
        since = [message.langchain for message in turn[at:] if message.agent == agent and not message.damaged]
        if calls := list(dropwhile(_is_no_move, find_unanswered_calls(since))):
            found[agent] = calls
    return found


def _is_no_move(call: ToolCall) -> bool:
    return call["name"] not in MOVE_NAMES


def _measure_move(store: Store, thread_id: str, move: Move, scope: MoveScope, context: Context | None) -> WaitingMove:
    removal, added_tokens = _find_removal(store, thread_id, move, scope), estimate_added_tokens(move, scope.agent)
    left_out = context.left_out_count if context else 0
    before = context.tokens if context else scope.path.sum_tokens(scope.agent, 0, scope.path.length)
    after = max(0, before - sum_removed_tokens(move, scope.path, scope.agent, left_out)) + added_tokens
    if context:
        # Messages that the window had left out return to the request if there is room.
        after += scope.path.sum_tokens(MAIN, 0, min(left_out, move.kept_count))
        after = min(after, context.window.max_request_tokens)
    return WaitingMove(scope.agent, move, removal, TokenChange(before, after))


def _find_removal(store: Store, thread_id: str, move: Move, scope: MoveScope) -> Removal:
    # A memory has no checkpoints of the conversation and no messages of other agents.
    if scope.agent != MAIN:
        return Removal(move.mark.removed, 0)
    removal = store.count_removal(thread_id, move.parent_id)
    if move.dropped_ids is None:
        return removal
    agents = {message.agent for message in list_scattered_messages(move, scope.path)} - {MAIN}
    return Removal(move.mark.removed, removal.checkpoints, tuple(sorted(agents)))
