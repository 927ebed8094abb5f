"""A runner with everything around it in one event loop, and tools that behave as badly as a test wants."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import SecretStr

from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle
from agent.events import Event, ReasoningDelta, RunFinished, TextDelta, TextWithdrawn
from agent.graph.budgets import Budget
from agent.graph.graph import build_graph
from agent.graph.state import Limits
from agent.models import openai
from agent.models.catalog import load_chat_model
from agent.models.keys import ProviderKeys
from agent.models.parameters import DEFAULT_PARAMETERS, ModelParameters, apply_parameters
from agent.run.blocking import BlockingPool
from agent.run.building import build_runner
from agent.run.hub import RunHub
from agent.run.parts import RunFollower, RunParts, UserGraphRuns
from agent.run.runner import Runner
from agent.run.titles import TitleWriter
from agent.run.wire import Wire
from agent.settings import ModelCatalog
from agent.subagents.agents import Agents
from agent.time_travel.policy import Policy, TimeTravelEvent
from agent.tools.calculator import calculator
from agent.tools.registry import GRAPH_TOOLS
from agent.tracing.protocol import NO_TRACING, Tracer
from checkpoints import Caller, Database, Message, Run, Runs, Store
from extensions.fleet.processes import PostgresqlProcesses
from extensions.fleet.workers import Workers
from extensions.judge.judge import Judge
from tests.app_process import PATIENCE
from tests.fakes.openai import FakeOpenAI
from tests.fakes.raw import RawProvider

KEY = "sk-very-secret-0123456789"
POOL_THREADS = 4
openai.CONNECT_SECONDS = PATIENCE  # a fake on a busy machine accepts late
LIMITS = Limits(idle_seconds=PATIENCE, tool_seconds=PATIENCE, draft_seconds=0.02)


def budget(answers: int = 1_000, calls: int = 1_000, seconds: float = 600.0) -> Budget:
    return Budget(answers, calls, seconds)


@asynccontextmanager
async def model_at(fake: FakeOpenAI | RawProvider, spec: str = "openai:some") -> AsyncIterator[BaseChatModel]:
    """The real client of the provider; it is closed because the next test has another event loop."""
    model: Any = load_chat_model(spec, ProviderKeys(openai_api_key=SecretStr(KEY), openai_base_url=fake.base_url))
    try:
        yield model
    finally:
        await model.root_async_client.close()


@dataclass(frozen=True)
class Only:
    """No choice but this model."""

    chat: BaseChatModel
    default_spec: str = "openai:some"
    parameters: ModelParameters = DEFAULT_PARAMETERS
    specs: Sequence[str] = ()

    def label_provider(self, spec: str) -> str:
        return ""

    def load_model(self, spec: str | None = None, parameters: ModelParameters = DEFAULT_PARAMETERS) -> BaseChatModel:
        return apply_parameters(self.chat, parameters)


@dataclass
class Several:
    """A catalogue whose default model a test may change between two messages."""

    models: dict[str, BaseChatModel]
    default_spec: str
    parameters: ModelParameters = DEFAULT_PARAMETERS

    @property
    def specs(self) -> Sequence[str]:
        return tuple(self.models)

    def label_provider(self, spec: str) -> str:
        return ""

    def load_model(self, spec: str | None = None, parameters: ModelParameters = DEFAULT_PARAMETERS) -> BaseChatModel:
        return self.models[spec or self.default_spec]


@dataclass
class Running:
    """One conversation in memory, its runner, and every event that was published about it."""

    store: Store
    runs: Runs
    hub: RunHub
    runner: Runner
    thread_id: str
    events: list[Event]

    async def send(self, text: str, *, request: str | None = None) -> Run:
        return await self.runner.send(self.thread_id, text, caller=Caller(request_id=request))

    async def end(self, run: Run) -> Run:
        """The run once it rests."""
        await self.until(lambda: any(isinstance(event, RunFinished) and event.run_id == run.id for event in self.events))
        latest = self.runs.get_latest_run(self.thread_id)
        assert latest is not None
        assert latest.id == run.id
        return latest

    async def say(self, text: str) -> Run:
        return await self.end(await self.send(text))

    async def until(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110  (what is waited for has no event of its own)
                await asyncio.sleep(0.002)

    def path(self) -> list[Message]:
        return self.store.list_messages(self.thread_id)

    def said(self) -> list[tuple[str, str, str]]:
        """The conversation as (type, status, text)."""
        return [(message.type, message.status.value, str(message.langchain.text)) for message in self.path()]

    def heard(self) -> str:
        """All text that was told while it was written, without the text that was withdrawn."""
        return "".join(event.text for event in self._since_withdrawal() if isinstance(event, TextDelta))

    def thought(self) -> str:
        """All reasoning that was told while it was written, with the text that was withdrawn."""
        reasoning = (each for each in self._since_withdrawal() if isinstance(each, ReasoningDelta | TextWithdrawn))
        return "".join(each.text if isinstance(each, ReasoningDelta) else each.reasoning for each in reasoning)

    def _since_withdrawal(self) -> list[Event]:
        """The events from the last withdrawal of text on. It tells all reasoning before it."""
        last = max((at for at, event in enumerate(self.events) if isinstance(event, TextWithdrawn)), default=0)
        return self.events[last:]

    def unanswered(self) -> set[str]:
        """Ids of calls on the path that do not have exactly one result."""
        asked, results = [], []
        for message in (stored.langchain for stored in self.path()):
            if isinstance(message, AIMessage):
                asked += [call["id"] for call in [*message.tool_calls, *message.invalid_tool_calls]]
            elif isinstance(message, ToolMessage):
                results.append(message.tool_call_id)
        return {str(each) for each in {*asked, *results} if asked.count(each) != 1 or results.count(each) != 1}


@asynccontextmanager
async def running(
    model: BaseChatModel,
    tools: Sequence[BaseTool] = (calculator,),
    *,
    approval: Collection[str] = (),
    graph_tools: Sequence[BaseTool] = GRAPH_TOOLS,
    numbers: NumberStyle = DEFAULT_NUMBERS,
    tracer: Tracer = NO_TRACING,
    time_travel: Policy = "off",
    heard: list[TimeTravelEvent] | None = None,
    models: ModelCatalog | None = None,
    judge: float | None = None,  # seconds that it has; None: there is none
    titles: float | None = None,  # seconds that one has; None: there are none
    titles_model: str | None = None,
    agents: Agents | None = None,
    database: Database | None = None,  # None: one in memory
    user_graphs: Callable[[Store, RunHub], UserGraphRuns] | None = None,
    workers: Workers | None = None,  # this process, where several serve the database
    wire: Callable[[RunHub], Wire] | None = None,
    thread_id: str | None = None,  # None: a new conversation
    **limits: Any,
) -> AsyncIterator[Running]:
    pool = ThreadPoolExecutor(POOL_THREADS)
    blocking = BlockingPool(pool)
    database = database or Database.in_memory()
    store, hub = Store(database), RunHub()
    runs = Runs(store)
    graph = build_graph(tools, approval=approval, graph_tools=graph_tools, numbers=numbers)
    kept = replace(LIMITS, **limits)
    told = [] if heard is None else [heard.append]
    moving: Any = {"default_policy": time_travel, "on_time_travel": told, "agents": agents or {}, "numbers": numbers}
    offer = models or Only(model)
    moving |= {"user_graphs": user_graphs(store, hub) if user_graphs else None}
    moving |= {"remote_wire": wire(hub) if wire else None}
    moving |= {"blocking": blocking, "limits": kept, "tracer": tracer}
    parts = RunParts(store=store, runs=runs, hub=hub, graph=graph, catalog=offer, **moving)
    followers: list[RunFollower] = []
    if judge is not None:
        followers.append(Judge(parts, max_seconds=judge))
    if titles is not None:
        followers.append(TitleWriter(parts, titles_model, max_seconds=titles))
    runner = build_runner(parts, followers)
    if workers is not None:
        PostgresqlProcesses(store, workers).add_worker(runner)
    runner.open()
    thread_id = thread_id or store.create_thread().id
    events: list[Event] = []
    async with hub.subscribe(thread_id) as following:

        async def listen() -> None:
            while True:
                events.extend(await following.receive())

        listening = asyncio.create_task(listen())
        try:
            yield Running(store, runs, hub, runner, thread_id, events)
        finally:
            await runner.close()
            listening.cancel()
            await asyncio.wait({listening})
            pool.shutdown()
            database.close()


def tool(name: str, action: Callable[[], Any]) -> BaseTool:
    """A tool without arguments that does this; what it returns is awaited if it can be."""

    async def act() -> Any:
        result = action()
        return await result if asyncio.iscoroutine(result) else result

    return StructuredTool.from_function(coroutine=act, name=name, description="Does something.")


def raising(error: BaseException) -> Callable[[], Any]:
    def action() -> Any:
        raise error.with_traceback(None)  # it may be raised many times, and grows with each

    return action
