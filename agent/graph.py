"""The agent as a graph: one node asks the model, one carries out its tool calls, until an answer asks for no more.

Compiled without a checkpointer: the store is the only truth, and each node commits what it made before it returns.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from agent.answer import Model, stream_answer
from agent.approval import unanswered
from agent.attached import mentioned, resolved
from agent.calls import carried_out
from agent.choice import ChosenModel
from agent.context import fitted, window_of
from agent.models import refuses_files
from agent.request import SENT, id_of, numbered_all, paired
from agent.state import AgentState, LimitReached, Limits, RunContext
from agent.tools.ask_agent import ask_agent
from agent.tools.fork import fork
from agent.tools.time_travel import TIME_TRAVEL
from checkpoints import files

Graph = CompiledStateGraph[AgentState, RunContext, AgentState, AgentState]


def build_graph(tools: Sequence[BaseTool], *, approval: Collection[str] = ()) -> Graph:
    """agent -> tools -> agent … -> end; from the tools on where calls were decided about that waited.

    The model is the run's. Tools named in `approval` run only when a person has decided so: until then the run rests
    (`Waiting`). Both may change while the app runs: what stands in them is looked up anew each time.
    """
    bound, refusals = _Bound(), _Refused()

    async def agent(state: AgentState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        can_move, model = runtime.context.traveller is not None, runtime.context.model
        assert model is not None
        _count(runtime.context)
        asked = fitted(paired(state["messages"]), window_of(model.chat, runtime.context.limits.window).most)
        messages = numbered_all(asked.messages) if can_move else asked.messages
        # What was asked for; the answer says what it came from.
        runtime.context.trace.asked(str(getattr(model.chat, "model_name", model.spec)), mentioned(messages))
        offered = [*_own(tools, runtime.context), *(TIME_TRAVEL if can_move else ())]
        with refusals.of(model, messages) as refused:
            sent = await runtime.context.recorder.work(partial(resolved, messages, runtime.context.held, refused))
            answer = await stream_answer(bound.to(model, offered), sent, runtime.context)
        for call in (*answer.tool_calls, *answer.invalid_tool_calls):
            call["id"] = runtime.context.recorder.fresh(call["id"] or "")
        answer.response_metadata |= {"spec": model.spec, SENT: asked.note}
        runtime.context.trace.answered(answer)
        answer.id = id_of(await runtime.context.recorder.commit(answer))
        return {"messages": [answer]}

    async def carry_out(state: AgentState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        own = {tool.name: tool for tool in _own(tools, runtime.context)}
        return {"messages": await carried_out(state["messages"], own, approval, runtime.context)}

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


class _Refused:
    """The files that models refused, by hash: they are not sent to them again."""

    def __init__(self) -> None:
        self._hashes: defaultdict[str, set[str]] = defaultdict(set)

    @contextmanager
    def of(self, model: ChosenModel, messages: Sequence[BaseMessage]) -> Iterator[Collection[str]]:
        """What to leave out while these messages are sent to a model."""
        try:
            yield self._hashes[model.spec]
        except Exception as error:
            if refuses_files(error):
                self._hashes[model.spec] |= {part["file"] for message in messages for part in files.parts(message.content)}
            raise


def _own(tools: Sequence[BaseTool], context: RunContext) -> list[BaseTool]:
    """The tools of the agent that acts, but for those that move through time."""
    others = [ask_agent] if context.delegation is not None else []
    others += [fork] if context.forks is not None else []
    return [tool for tool in (*tools, *others) if context.tools is None or tool.name in context.tools]


def _count(context: RunContext) -> None:
    """Raises `LimitReached` when the agents of the run have answered as often as they may.

    Branches and sub-agents leave one to each agent that waits for them: it is to read what came of them.
    """
    if context.spent.answers >= context.limits.most_steps - context.reserved_answers:
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
