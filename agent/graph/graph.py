"""The agent as a graph: a node asks the model, another runs its tool calls, until an answer contains no call.

The graph has no checkpointer: the store is the only truth, and each node commits its messages before it returns.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from agent.context.answer_notes import WITHOUT_TOOLS_NOTE, is_without_tools
from agent.context.attachments import describe_attachments, load_attachments
from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle
from agent.context.request import (
    add_numbers,
    complete_tool_pairs,
    is_short,
    make_message_id,
    rename_calls,
    write_tools_as_text,
)
from agent.context.window import ModelRequest, find_window, fit_to_window
from agent.graph.answer import BoundModel, stream_answer
from agent.graph.state import Recorder, RunContext
from agent.graph.tool_calls import run_tool_calls
from agent.models.catalog import MAX_ADJUSTED_MODELS
from agent.models.errors import refuses_files, refuses_tools
from agent.models.reasoning import identify_source, restore_reasoning, select_reasoning
from agent.models.recent_refusals import RecentRefusals
from agent.models.request_bodies import prepare_request
from agent.settings import ChosenModel
from agent.tools.decisions import find_unanswered_calls
from agent.tools.names import ASK_AGENT, FORK, MOVE_NAMES
from agent.tools.registry import GRAPH_TOOLS
from checkpoints.values import files
from checkpoints.values.answer_spec import make_spec_entry

# Stands for all tools that a model may refuse.
_TOOLS = "tools"


def append_messages(messages: Sequence[AnyMessage], new: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with the new messages. LangGraph's own function compares all their ids, three times a turn."""
    return [*messages, *new]


class AgentState(TypedDict):
    """The messages of the acting agent, as the model may see them."""

    messages: Annotated[list[AnyMessage], append_messages]


Graph = CompiledStateGraph[AgentState, RunContext, AgentState, AgentState]


def build_graph(
    tools: Sequence[BaseTool],
    *,
    approval: Collection[str] = (),
    graph_tools: Sequence[BaseTool] = GRAPH_TOOLS,
    numbers: NumberStyle = DEFAULT_NUMBERS,
) -> Graph:
    """Build agent -> tools -> agent … -> end. A run starts at the tools if waiting calls have decisions.

    The run gives the model. Tools named in `approval` run only after a person's decision, and until then the run rests
    (`AwaitingDecision`). Both collections may change while the app runs, so they are read each time. The graph itself
    runs `graph_tools`, if the run supports them.
    """

    async def run_tools(state: AgentState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        offered = _list_agent_tools(tools, graph_tools, runtime.context) if _takes_tools(state["messages"]) else []
        by_name = {tool.name: tool for tool in offered}
        return {"messages": await run_tool_calls(state["messages"], by_name, approval, runtime.context)}

    graph = StateGraph(AgentState, context_schema=RunContext)
    graph.add_node("agent", _ModelNode(tools, graph_tools, numbers).ask_model)
    graph.add_node("tools", run_tools)
    graph.add_conditional_edges(START, _route_start, ["agent", "tools"])
    graph.add_conditional_edges("agent", _route_answer, ["tools", END])
    graph.add_edge("tools", "agent")
    return graph.compile()


class _BoundModels:
    """A cache of models with bound tools, since describing the tools takes longer than the rest of a request."""

    def __init__(self) -> None:
        # The last used model is the last item.
        self._bound_models: dict[Hashable, tuple[Sequence[BaseTool], BoundModel]] = {}

    async def bind_tools(self, model: ChosenModel, tools: Sequence[BaseTool], recorder: Recorder) -> BoundModel:
        """Return the model with these tools. They are described on a thread, since large schemas take tens of
        milliseconds.
        """
        # The names belong to the key, since tools may be added while the app runs.
        key = (
            model.spec,
            model.parameters,
            *(tool.name for tool in tools),
        )
        known = self._bound_models.pop(key, None)
        # A server that comes back may have another tool of the same name.
        if known is None or any(one is not other for one, other in zip(known[0], tools, strict=True)):
            bind = partial(model.chat.bind_tools, tools)
            known = tools, await recorder.run_blocking(bind) if tools else model.chat
        self._bound_models[key] = known
        if len(self._bound_models) > MAX_ADJUSTED_MODELS:
            del self._bound_models[next(iter(self._bound_models))]
        return known[1]


@dataclass(frozen=True, slots=True)
class _ModelNode:
    """The node that asks a run's model, with what it has learned about the models."""

    tools: Sequence[BaseTool]
    graph_tools: Sequence[BaseTool]
    numbers: NumberStyle
    bound: _BoundModels = field(default_factory=_BoundModels)
    # Keys are sources of models. The refused items are tools, and files by their hash.
    refusals: defaultdict[str, RecentRefusals] = field(default_factory=lambda: defaultdict(RecentRefusals))

    async def ask_model(self, state: AgentState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        """Commit and return an answer. If the model refuses tools, it gets the same request without them, for an hour."""
        context, model = runtime.context, runtime.context.model
        assert model is not None
        _count_answer(context)
        refusals = self.refusals[identify_source(model.spec, model.chat)]
        while True:
            offered = None if _TOOLS in refusals else _list_agent_tools(self.tools, self.graph_tools, context)
            try:
                return await self._answer(state, context, model, offered)
            except Exception as error:
                if not _note_refusal(error, refusals, state["messages"], offered or ()):
                    raise

    async def _answer(
        self, state: AgentState, context: RunContext, model: ChosenModel, tools: Sequence[BaseTool] | None
    ) -> dict[str, Any]:
        """Commit and return an answer. `tools` is None if the model has refused tools."""
        source, offered = identify_source(model.spec, model.chat), tools or ()
        max_tokens = find_window(model.chat, context.limits.max_window_tokens).max_request_tokens
        is_numbered = self.numbers != "off" and any(tool.name in MOVE_NAMES for tool in offered)

        def build() -> _BuiltRequest:
            request = _fit_request(state["messages"], source, max_tokens, with_tools=bool(offered))
            messages = add_numbers(request.messages, self.numbers) if is_numbered else request.messages
            loaded = load_attachments(messages, context.read_files, self.refusals[source])
            sent = restore_reasoning(loaded, source, model.chat)
            return _BuiltRequest(request, messages, describe_attachments(messages), sent)

        def build_long() -> _BuiltRequest:
            built = build()
            return replace(built, sent=prepare_request(model.chat, built.sent))

        # A long path takes hundreds of milliseconds, and other conversations would wait.
        is_short_path = is_short(state["messages"], lambda each: None if _has_calls(each) else each.content)
        built = build() if is_short_path else await context.recorder.run_blocking(build_long)
        # This is the requested model. The answer's metadata names the model that wrote it.
        requested = str(getattr(model.chat, "model_name", model.spec))
        context.trace.on_request(requested, built.traced)
        context.recorder.note_model(model.spec)
        answer = await stream_answer(await self.bound.bind_tools(model, offered, context.recorder), built.sent, context)
        answer = _make_ids_unique(answer, context.recorder)
        answer.response_metadata |= {**make_spec_entry(model.spec), **built.request.size_note.to_metadata()}
        if tools is None:
            answer.response_metadata |= WITHOUT_TOOLS_NOTE
        context.trace.on_answer(answer)
        answer.id = make_message_id(await context.recorder.commit(answer))
        return {"messages": [answer]}


def _note_refusal(
    error: Exception, refusals: RecentRefusals, messages: Sequence[BaseMessage], offered: Sequence[BaseTool]
) -> bool:
    """Note what a model refused. Return whether to send the request once more without it.

    People learn of refused files the first time, because the model cannot see them.
    """
    if offered and refuses_tools(error):
        refusals.add(_TOOLS)
        return True
    if not refuses_files(error):
        return False
    hashes = {part["file"] for message in messages for part in files.find_file_parts(message.content)}
    is_told = all(map(refusals.knows, hashes)) and not all(each in refusals for each in hashes)
    for each in hashes:
        refusals.add(each)
    return is_told


@dataclass(frozen=True, slots=True)
class _BuiltRequest:
    """A fitting request: its messages with numbers, for traces, and for providers."""

    request: ModelRequest
    messages: Sequence[AnyMessage]
    traced: Sequence[AnyMessage]
    sent: list[AnyMessage]


def _fit_request(messages: Sequence[AnyMessage], source: str, max_tokens: int, *, with_tools: bool) -> ModelRequest:
    paired = complete_tool_pairs(messages) if with_tools else write_tools_as_text(messages)
    return fit_to_window(select_reasoning(paired, source), max_tokens)


def _make_ids_unique(answer: AIMessage, recorder: Recorder) -> AIMessage:
    """Return an answer whose calls have unique ids within the run."""
    new_ids: dict[str, str] = {}
    for call in (*answer.tool_calls, *answer.invalid_tool_calls):
        old_id = call["id"] or ""
        call["id"] = new_ids[old_id] = recorder.unique_call_id(old_id)
    return rename_calls(answer, new_ids)


def _list_agent_tools(tools: Sequence[BaseTool], graph_tools: Sequence[BaseTool], context: RunContext) -> list[BaseTool]:
    means = {ASK_AGENT: context.delegator, FORK: context.fork_explorer}
    possible = [tool for tool in graph_tools if means.get(tool.name, context.time_travel) is not None]
    return [tool for tool in (*tools, *possible) if context.tool_names is None or tool.name in context.tool_names]


def _takes_tools(messages: Sequence[BaseMessage]) -> bool:
    """Return whether tools were offered to the last answer's model. Some models call tools that nobody offered."""
    answer = next(message for message in reversed(messages) if isinstance(message, AIMessage))
    return not is_without_tools(answer.response_metadata)


def _count_answer(context: RunContext) -> None:
    """Count an answer of the agent and of the run. Raises `LimitReached` when either has used its budget.

    Branches and sub-agents reserve one answer of the run's budget for each agent that waits for them, because it must
    read their results.
    """
    context.own_usage.check_answer()
    context.run_usage.check_answer(context.reserved_answers)
    context.own_usage.answers += 1
    context.run_usage.answers += 1


# LangGraph runs plain functions in the loop's pool of threads, where a hanging tool would keep every run waiting.
async def _route_start(state: AgentState) -> str:
    return "tools" if find_unanswered_calls(state["messages"]) else "agent"


async def _route_answer(state: AgentState) -> str:
    return "tools" if _has_calls(state["messages"][-1]) else END


def _has_calls(message: AnyMessage) -> bool:
    return isinstance(message, AIMessage) and bool(message.tool_calls or message.invalid_tool_calls)
