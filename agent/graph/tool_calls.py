"""Runs the calls of an answer side by side, after a person's approval if needed (see decisions)."""

import asyncio
import logging
import time
import uuid
from collections.abc import Collection, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, InvalidToolCall, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from pydantic import ValidationError

from agent.context.request import NOT_CARRIED_OUT_TEXT, make_message_id
from agent.graph.answer import TOO_DEEP, TOO_MANY_VALUES
from agent.graph.approval import apply_decision, is_begun, needs_decision, settle_call
from agent.graph.budgets import LimitReached
from agent.graph.state import RunContext, ToolOutcome
from agent.time_travel.moves import MoveRefused
from agent.tools.ask_agent import ask_agent
from agent.tools.decisions import AwaitingDecision, find_unanswered_calls
from agent.tools.fork import fork
from agent.tools.invocation import invoke_tool, run_within
from agent.tools.names import MOVE_NAMES
from agent.tools.time_travel import TIME_TRAVEL_TOOLS, list_checkpoints, save_checkpoint
from checkpoints.values import serde
from checkpoints.values.sentence import plural_sentence
from checkpoints.values.text import shorten_for_model

AFTER_MOVE_TEXT = "Not carried out: it was asked for after a move to another place in the same answer."
SWITCHED_OFF_TEXT = "This is switched off here. Go on without it."
NO_TOOLS_TEXT = "Not carried out: no tools are offered here. Answer without them."
NOBODY_TO_ASK_TEXT = "This tool needs the user's leave, and on a branch of a fork nobody can be asked. Go on without it."
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _SplitCalls:
    """The calls of an answer around its first move through time, if it makes one."""

    before: list[ToolCall]
    move: ToolCall | None
    # The move removes their path, unless it is refused or denied.
    after: list[ToolCall]


async def run_tool_calls(
    messages: Sequence[AnyMessage], tools: dict[str, BaseTool], approval: Collection[str], context: RunContext
) -> list[ToolMessage]:
    """Run the calls of the last answer that have no result yet, commit their results, and return them.

    Raises `AwaitingDecision` if a person must decide first, `PathChanged` after a move, and `LimitReached` after the
    calls within the budgets, unless a call waits for a person.
    """
    answer = next(message for message in reversed(messages) if isinstance(message, AIMessage))
    results = [await _commit_refusal(call, _reject_unreadable(call), context) for call in answer.invalid_tool_calls]
    calls, is_waiting = find_unanswered_calls(messages), False
    # Refuse missing tools before anybody is asked about them. Calls with a decision were offered when they were made.
    missing = [call for call in calls if call["name"] not in tools and call["id"] not in context.decisions]
    results += [await _refuse_call(call, _describe_missing(call["name"], tools), context) for call in missing]
    calls = [call for call in calls if call not in missing]
    while calls:
        split = _split_at_move(calls, tools)
        undecided = [call for call in split.before if needs_decision(call, approval, tools, context)]
        is_waiting = is_waiting or bool(undecided and not context.is_unattended)
        if context.is_unattended:
            results += [await _refuse_call(call, NOBODY_TO_ASK_TEXT, context) for call in undecided]
        ready = [call for call in split.before if call not in undecided]
        ready, beyond, limit = _split_at_limit(ready, context)
        finished = [result for result in await _run_all(tools, ready, context) if result is not None]
        results += finished
        is_stuck = len(finished) < len(ready)
        if limit is not None and not (is_waiting or is_stuck):
            raise limit
        # Refuse them now: waiting calls stay open, and a person would be asked about these as well.
        for call in beyond:
            results.append(await _refuse_call(call, NOT_CARRIED_OUT_TEXT, context))
        if limit is not None or is_stuck:
            raise AwaitingDecision
        if split.move is not None:
            results.append(await _make_move(split.move, split.after, approval, context))
        calls = split.after
    if is_waiting:
        raise AwaitingDecision
    return results


def _split_at_move(calls: list[ToolCall], tools: Collection[str]) -> _SplitCalls:
    moves = (index for index, call in enumerate(calls) if call["name"] in MOVE_NAMES and call["name"] in tools)
    first = next(moves, None)
    if first is None:
        return _SplitCalls(calls, None, [])
    return _SplitCalls(calls[:first], calls[first], calls[first + 1 :])


async def _make_move(
    call: ToolCall, later_calls: Sequence[ToolCall], approval: Collection[str], context: RunContext
) -> ToolMessage:
    """Move as the call requests, and refuse the later calls of its answer.

    A refused or denied move is a result like any other, and the later calls run.

    Raises `PathChanged` after the move, and `AwaitingDecision` if a person must decide first.
    """
    assert context.time_travel is not None
    decision = context.decisions.get(call["id"] or "")
    if (settled := settle_call(decision)) is not None:
        return await _refuse_call(call, settled.text, context)
    try:
        await context.recorder.run_blocking(partial(context.time_travel.plan_call, call, decision))
    except MoveRefused as reason:
        return await _refuse_call(call, str(reason), context)
    if decision is None and (context.time_travel.policy == "ask" or call["name"] in approval):
        # The later calls stay open, and run if the move is denied.
        raise AwaitingDecision
    for each in later_calls:
        await _refuse_call(each, AFTER_MOVE_TEXT, context)
    # The second plan counts the new results among the messages that leave.
    move = await context.recorder.run_blocking(partial(context.time_travel.plan_call, call, decision))
    raise await context.time_travel.make_move(call, move, context.recorder)


async def _refuse_call(call: ToolCall, text: str, context: RunContext) -> ToolMessage:
    result = ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"], status="error")
    return await _commit_refusal(call, result, context)


async def _commit_refusal(call: ToolCall | InvalidToolCall, result: ToolMessage, context: RunContext) -> ToolMessage:
    context.trace.on_refusal(call, result)
    return await _commit_result(result, context)


async def _commit_result(result: ToolMessage, context: RunContext) -> ToolMessage:
    """Commit a result and number it, as the model reads it in the same run."""
    result.id = make_message_id(await context.recorder.commit(result))
    return result


def _split_at_limit(
    calls: list[ToolCall], context: RunContext
) -> tuple[list[ToolCall], list[ToolCall], LimitReached | None]:
    """Return the calls that the budgets of the agent and of the run allow, the calls beyond them, and the limit."""
    tightest = min(context.own_usage, context.run_usage, key=attrgetter("remaining_calls"))
    # These were counted before the run waited.
    begun = [call for call in calls if is_begun(call, context)]
    # A person's decision outweighs a limit.
    decided = [call for call in calls if call["id"] in context.decisions]
    new = [call for call in calls if call not in begun and call not in decided]
    most = max(0, tightest.remaining_calls - len(decided))
    allowed, beyond = new[:most], new[most:]
    for usage in (context.own_usage, context.run_usage):
        usage.calls += len(decided) + len(allowed)
    return (
        [*begun, *decided, *allowed],
        beyond,
        tightest.describe_limit(_describe_calls(tightest.budget.calls)) if beyond else None,
    )


def _describe_calls(number: int) -> str:
    return plural_sentence("{count:,g} tool call", "{count:,g} tool calls", count=number)


async def _run_all(tools: dict[str, BaseTool], calls: Sequence[ToolCall], context: RunContext) -> list[ToolMessage | None]:
    """Run an answer's calls side by side. The result is None for a call whose agent waits for a person.

    Checkpoints are saved last, after all results, with nothing between the result "Saved" and the checkpoint. So a run
    that is stopped while another call is at work never reports a missing checkpoint.
    """
    saving = [call for call in calls if call["name"] == save_checkpoint.name]
    answers = await _run_side_by_side([_run_one(tools, call, context) for call in calls if call not in saving])
    try:
        answers += [await _run_one(tools, call, context) for call in saving]
    finally:
        if context.time_travel is not None:
            await context.recorder.run_blocking(context.time_travel.flush_checkpoints)
    return answers


async def _run_side_by_side(coroutines: Sequence[Coroutine[Any, Any, ToolMessage | None]]) -> list[ToolMessage | None]:
    """Wait for all. If one raises because its result could not be written, stop the others and raise its error."""
    failure: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in coroutines]
    except BaseExceptionGroup as group_error:
        failure = group_error.exceptions[0]
    # Raise outside the handler: the group would become a cause of the error that it holds.
    if failure is not None:
        raise failure
    return [task.result() for task in tasks]


async def _run_one(tools: dict[str, BaseTool], call: ToolCall, context: RunContext) -> ToolMessage | None:
    """Run a call and commit its result. Return None if its agent waits for a person. Other calls continue."""
    await context.recorder.begin_tool(call["id"] or "")
    context.trace.on_tool_start(call)
    started = time.monotonic()
    try:
        outcome = await apply_decision(call, context, partial(_dispatch_call, tools, context))
    except AwaitingDecision:
        return None
    result = ToolMessage(
        # Shorten first, since the rest takes too long for huge texts.
        serde.sanitize_text(shorten_for_model(outcome.text, context.limits.max_result_chars)),
        tool_call_id=call["id"] or "",
        name=call["name"],
        status="error" if outcome.is_failed else "success",
        additional_kwargs=outcome.mark.to_kwargs() if outcome.mark else {},
        response_metadata={"duration_ms": round((time.monotonic() - started) * 1000)},
    )
    context.trace.on_tool_end(result)
    return await _commit_result(result, context)


async def _dispatch_call(tools: dict[str, BaseTool], context: RunContext, call: ToolCall) -> ToolOutcome:
    executor, arguments = context.time_travel, call["args"]
    if context.delegator is not None and call["name"] == ask_agent.name in tools:
        return await context.delegator.ask(call, context)
    if context.fork_explorer is not None and call["name"] == fork.name in tools:
        return await context.fork_explorer.explore(call, context)
    if executor is not None and call["name"] == save_checkpoint.name in tools:
        saving = partial(executor.request_checkpoint, str(arguments.get("name", "")), str(arguments.get("description", "")))
        saved = await context.recorder.run_blocking(saving)
        return ToolOutcome(saved.text, mark=saved.mark)
    if executor is not None and call["name"] == list_checkpoints.name in tools:
        return ToolOutcome(await context.recorder.run_blocking(executor.describe_checkpoints))
    max_seconds = context.limits.tool_seconds
    try:
        return await run_within(max_seconds, _invoke_tool(tools, call))
    except TimeoutError:
        _log.warning("tool %s took longer than %g s and was stopped", call["name"], max_seconds)
        return ToolOutcome(f"The tool took longer than {max_seconds:g} s and was stopped.", is_failed=True)


def _reject_unreadable(call: InvalidToolCall) -> ToolMessage:
    error = call["error"] or ""
    advice = {TOO_DEEP: "flatter ones", TOO_MANY_VALUES: "fewer of them"}.get(error)
    text = (
        f"The arguments were {error}, so the tool was not run. Call it again with {advice}."
        if advice
        else "The arguments were not a JSON object, so the tool was not run. Call it again with valid JSON."
    )
    return ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"], status="error")


def _describe_missing(name: str, tools: Collection[str]) -> str:
    """Return the result of a call whose tool was not offered to the agent."""
    if not tools:
        return NO_TOOLS_TEXT
    is_switched_off = name in (*(tool.name for tool in TIME_TRAVEL_TOOLS), fork.name)
    return SWITCHED_OFF_TEXT if is_switched_off else f"There is no tool {name!r}. There are: {', '.join(tools)}."


async def _invoke_tool(tools: dict[str, BaseTool], call: ToolCall) -> ToolOutcome:
    """Run a tool and return its result as text. A tool can fail in any way, and the conversation continues."""
    tool = tools.get(call["name"])
    if tool is None:
        return ToolOutcome(_describe_missing(call["name"], tools), is_failed=True)
    try:
        return ToolOutcome(await invoke_tool(tool, call["args"]))
    # The call gets a result, whatever a tool does.
    except BaseException as error:
        is_stopped = isinstance(error, asyncio.CancelledError) and (task := asyncio.current_task()) and task.cancelling()
        if is_stopped or isinstance(error, GeneratorExit):
            # The run itself ends.
            raise
        if (words := _explain_failure(error)) is not None:
            return ToolOutcome(words, is_failed=True)
        reference = uuid.uuid4().hex[:8]
        _log.exception("tool %s failed [%s]", call["name"], reference)
        return ToolOutcome(f"The tool failed (reference {reference}).", is_failed=True)


def _explain_failure(error: BaseException) -> str | None:
    """Return the words of a failure if they are meant for the model, else None. The error is the tool's own."""
    with suppress(Exception):
        if isinstance(error, ToolException):
            return str(error)
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_input=False)[0]
            return f"The arguments do not fit: {'.'.join(map(str, first['loc']))}: {first['msg']}."
    return None
