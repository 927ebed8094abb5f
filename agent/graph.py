"""The agent as a graph: one node asks the model, one carries out its tool calls, until an answer asks for no more.

Compiled without a checkpointer: the store is the only truth, and each node commits what it made before it returns.
"""

import asyncio
import json
import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from pydantic import ValidationError

from agent.answer import Model, stream_answer
from agent.approval import DENIED, Decision, Waiting, answered_instead, unanswered
from agent.attached import mentioned, resolved
from agent.choice import ChosenModel
from agent.context import fitted, window_of
from agent.models import refuses_files
from agent.request import SENT, id_of, numbered_all, paired
from agent.state import AgentState, LimitReached, Limits, RunContext
from agent.time_travel import MoveRefused
from agent.tools.ask_agent import ask_agent
from agent.tools.fork import fork
from agent.tools.time_travel import TIME_TRAVEL, list_checkpoints, save_checkpoint
from agent.travelling import MOVES, Traveller
from checkpoints import files

Graph = CompiledStateGraph[AgentState, RunContext, AgentState, AgentState]
TOO_LATE = "Not carried out: it was asked for after a move to another place in the same answer."
SWITCHED_OFF = "This is switched off here. Go on without it."
NOBODY = "This tool needs the user's leave, and on a branch of a fork nobody can be asked. Go on without it."
_log = logging.getLogger(__name__)


def build_graph(tools: Sequence[BaseTool], *, approval: Collection[str] = ()) -> Graph:
    """agent -> tools -> agent … -> end; from the tools on where calls were decided about that waited.

    The model is the run's. Tools named in `approval` run only when a person has decided so: until then the run rests
    (`Waiting`). Both may change while the app runs: what stands in them is looked up anew each time.
    """
    bound = _Bound()
    refusals: defaultdict[str, set[str]] = defaultdict(set)  # the files that each model refused, by hash

    async def agent(state: AgentState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        can_move, model = runtime.context.traveller is not None, runtime.context.model
        assert model is not None
        _count(runtime.context)
        asked = fitted(paired(state["messages"]), window_of(model.chat, runtime.context.limits.window).most)
        messages = numbered_all(asked.messages) if can_move else asked.messages
        # What was asked for; the answer says what it came from.
        runtime.context.trace.asked(str(getattr(model.chat, "model_name", model.spec)), mentioned(messages))
        refused = refusals[model.spec]
        sent = await runtime.context.recorder.work(partial(resolved, messages, runtime.context.held, refused))
        offered = [*_own(tools, runtime.context), *(TIME_TRAVEL if can_move else ())]
        try:
            answer = await stream_answer(bound.to(model, offered), sent, runtime.context)
        except Exception as error:
            if refuses_files(error):
                refused |= {part["file"] for message in messages for part in files.parts(message.content)}
            raise
        for call in (*answer.tool_calls, *answer.invalid_tool_calls):
            call["id"] = runtime.context.recorder.fresh(call["id"] or "")
        answer.response_metadata |= {"spec": model.spec, SENT: asked.note}
        runtime.context.trace.answered(answer)
        answer.id = id_of(await runtime.context.recorder.commit(answer))
        return {"messages": [answer]}

    async def carry_out(state: AgentState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        asked = next(message for message in reversed(state["messages"]) if isinstance(message, AIMessage))
        refused = [_unreadable(call["name"], call["id"]) for call in asked.invalid_tool_calls]
        for refusal in refused:
            await runtime.context.recorder.commit(refusal)
        calls, move, late = divided(unanswered(state["messages"]), runtime.context.traveller)
        refused += [await _refused(call, TOO_LATE, runtime.context) for call in late]
        asking = [call for call in calls if _asks(call, approval, runtime.context)]
        if runtime.context.alone:
            refused += [await _refused(call, NOBODY, runtime.context) for call in asking]
            calls, asking = [call for call in calls if call not in asking], []
        ready = [call for call in calls if call not in asking]
        answers = await _answers({tool.name: tool for tool in _own(tools, runtime.context)}, ready, runtime.context)
        results = [answer for answer in answers if answer is not None]
        if len(results) < len(ready):
            raise Waiting
        if move is not None:
            results.append(await _moved(move, runtime.context))
        if len(ready) < len(calls):
            raise Waiting
        return {"messages": [*refused, *results]}

    graph = StateGraph(AgentState, context_schema=RunContext)
    graph.add_node("agent", agent)
    graph.add_node("tools", carry_out)
    graph.add_conditional_edges(START, _first, ["agent", "tools"])
    graph.add_conditional_edges("agent", _next, ["tools", END])
    graph.add_edge("tools", "agent")
    return graph.compile()


class _Bound:
    """Models that know of the tools, each made once: describing the tools takes longer than the rest of a request."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, ...], tuple[Sequence[BaseTool], Model]] = {}

    def to(self, model: ChosenModel, tools: Sequence[BaseTool]) -> Model:
        key = (model.spec, *(tool.name for tool in tools))  # with their names: tools may be added while the app runs
        known = self._made.get(key)
        # A server that comes back may mean something else by the same name.
        if known is None or any(one is not other for one, other in zip(known[0], tools, strict=True)):
            known = self._made[key] = tools, model.chat.bind_tools(tools) if tools else model.chat
        return known[1]


def _own(tools: Sequence[BaseTool], context: RunContext) -> list[BaseTool]:
    """The tools of the agent that acts, but for those that move through time."""
    others = [ask_agent] if context.delegation is not None else []
    others += [fork] if context.forks is not None else []
    return [tool for tool in (*tools, *others) if context.tools is None or tool.name in context.tools]


def _asks(call: ToolCall, approval: Collection[str], context: RunContext) -> bool:
    """Whether a person has yet to decide about a call."""
    forks = context.forks is not None and context.forks.asks and call["name"] == fork.name
    return (forks or call["name"] in approval) and not _is_decided(call, context)


def _is_decided(call: ToolCall, context: RunContext) -> bool:
    is_begun = context.delegation is not None and context.delegation.is_begun(context.agent, call)
    return is_begun or call["id"] in context.decisions


def _count(context: RunContext) -> None:
    """Raises `LimitReached` when the agents of the run have answered as often as they may.

    Branches leave one answer: the agent that asked for them is to read what came of them.
    """
    if context.spent.answers >= context.limits.most_steps - context.alone:
        raise LimitReached(f"The agent was stopped after {context.limits.most_steps} steps.")
    context.spent.answers += 1


def steps(limits: Limits) -> RunnableConfig:
    """The library's own limit, of nodes: a run's answers are counted before it is reached."""
    return {"recursion_limit": 2 * limits.most_steps + 2}


def _first(state: AgentState) -> str:
    return "tools" if unanswered(state["messages"]) else "agent"


def _next(state: AgentState) -> str:
    last = state["messages"][-1]
    return "tools" if isinstance(last, AIMessage) and (last.tool_calls or last.invalid_tool_calls) else END


def divided(calls: list[ToolCall], traveller: Traveller | None) -> tuple[list[ToolCall], ToolCall | None, list[ToolCall]]:
    """The calls up to a move, the move, and what was asked for after it: that belongs to a path which is about to leave."""
    if traveller is None:
        return calls, None, []
    places = [index for index, call in enumerate(calls) if call["name"] in MOVES]
    first = places[0] if places else len(calls)
    return calls[:first], calls[first] if places else None, calls[first + 1 :]


async def _moved(call: ToolCall, context: RunContext) -> ToolMessage:
    """Go back as the call asks. Raises `Moved` when that was done and `Waiting` when a person must decide first; a move that
    is refused is a result like any other.
    """
    assert context.traveller is not None
    decision = context.decisions.get(call["id"] or "")
    if decision is not None and decision.kind not in ("allow", "edit"):
        text = answered_instead(decision) if decision.kind == "respond" else DENIED
        return await _refused(call, text, context)
    try:
        move = await context.recorder.work(partial(context.traveller.plan, call, decision))
    except MoveRefused as reason:
        return await _refused(call, str(reason), context)
    if context.traveller.policy == "ask" and decision is None:
        raise Waiting
    raise await context.recorder.work(partial(context.traveller.make, move))


async def _refused(call: ToolCall, text: str, context: RunContext) -> ToolMessage:
    result = ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"], status="error")
    result.id = id_of(await context.recorder.commit(result))
    return result


async def _answers(tools: dict[str, BaseTool], calls: Sequence[ToolCall], context: RunContext) -> list[ToolMessage | None]:
    """Carry out the calls of one answer side by side. None for one whose agent waits for a person.

    Checkpoints are saved behind all results. So they come last, and nothing else comes between "Saved" and the checkpoint:
    who stops the run while another call is at work is not told of one that is not there.

    Raises `LimitReached` after as many as the run may have.
    """
    allowed = calls[: context.limits.most_calls - context.spent.calls]
    context.spent.calls += len(allowed)
    saving = [call for call in allowed if call["name"] == save_checkpoint.name]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_answer(tools, call, context)) for call in allowed if call not in saving]
    except ExceptionGroup as failed:  # a result that could not be written; the group has stopped the others
        raise failed.exceptions[0] from failed
    answers = [task.result() for task in tasks]
    try:
        answers += [await _answer(tools, call, context) for call in saving]
    finally:
        if context.traveller is not None:
            await context.recorder.work(context.traveller.saved)
    if len(allowed) < len(calls):
        raise LimitReached(f"The agent was stopped after {context.limits.most_calls} tool calls.")
    return answers


async def _answer(tools: dict[str, BaseTool], call: ToolCall, context: RunContext) -> ToolMessage | None:
    """Carry out one call and commit its result, beside the others of the same answer; these go on when this one waits."""
    context.recorder.tool_started(call["id"] or "")
    context.trace.tool_began(call)
    started = time.monotonic()
    try:
        text, failed = await _decided(tools, call, context)
    except Waiting:
        return None
    result = ToolMessage(
        _cut(text, context.limits.most_result),
        tool_call_id=call["id"] or "",
        name=call["name"],
        status="error" if failed else "success",
        response_metadata={"duration_ms": round((time.monotonic() - started) * 1000)},
    )
    context.trace.tool_ended(result)
    result.id = id_of(await context.recorder.commit(result))
    return result


async def _decided(tools: dict[str, BaseTool], call: ToolCall, context: RunContext) -> tuple[str, bool]:
    """The result of one call, as a person decided about it, where they did."""
    decision = context.decisions.get(call["id"] or "")
    match decision:
        case None | Decision(kind="allow"):
            return await _allowed(tools, call, context)
        case Decision(kind="respond"):
            return answered_instead(decision), False
        case Decision(kind="edit", arguments=arguments):
            text, failed = await _allowed(tools, {**call, "args": arguments or {}}, context)
            changed = json.dumps(arguments, ensure_ascii=False)
            return f"(The user changed the arguments to {changed}.)\n{text}", failed
    return DENIED, True  # and for whatever is no decision that there is


async def _allowed(tools: dict[str, BaseTool], call: ToolCall, context: RunContext) -> tuple[str, bool]:
    traveller, given = context.traveller, call["args"]
    if context.delegation is not None and call["name"] == ask_agent.name in tools:
        return await context.delegation.ask(call, context)
    if context.forks is not None and call["name"] == fork.name in tools:
        return await context.forks.explore(call, context)
    if traveller is not None and call["name"] == save_checkpoint.name:
        saving = partial(traveller.save, str(given.get("name", "")), str(given.get("description", "")))
        return await context.recorder.work(saving), False
    if traveller is not None and call["name"] == list_checkpoints.name:
        return await context.recorder.work(traveller.listed), False
    return await _carry_out(tools, call, context.limits.tool_seconds)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n… (cut: {len(text) - most:,} more characters)"


def _unreadable(name: str | None, call_id: str | None) -> ToolMessage:
    text = "The arguments were not a JSON object, so the tool was not run. Call it again with valid JSON."
    return ToolMessage(text, tool_call_id=call_id or "", name=name, status="error")


async def _carry_out(tools: dict[str, BaseTool], call: ToolCall, seconds: float) -> tuple[str, bool]:
    """The result of one call as text, and whether it failed. A tool can fail in any way; the conversation goes on."""
    tool = tools.get(call["name"])
    if tool is None:
        unknown = f"There is no tool {call['name']!r}. There are: {', '.join(tools) or 'none'}."
        return SWITCHED_OFF if call["name"] in (*MOVES, fork.name) else unknown, True
    try:
        async with asyncio.timeout(seconds):
            return str(await tool.ainvoke(call["args"])), False
    except TimeoutError:
        return f"The tool took longer than {seconds:g} s and was stopped.", True
    except ToolException as error:
        return str(error), True
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return f"The arguments do not fit: {'.'.join(map(str, first['loc']))}: {first['msg']}.", True
    except (Exception, asyncio.CancelledError) as error:  # whatever a tool does, the call gets an answer
        if isinstance(error, asyncio.CancelledError) and (task := asyncio.current_task()) and task.cancelling():
            raise  # it is the run that is stopped
        reference = uuid.uuid4().hex[:8]
        _log.exception("tool %s failed [%s]", call["name"], reference)
        return f"The tool failed (reference {reference}).", True
