"""The agent, loaded while the page is already served: its libraries are a third of all imports."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.graph.state import AgentGraph, RunContext
from agent.run.blocking import BlockingPool

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from agent.tools.mcp import McpServers


@dataclass(frozen=True, slots=True)
class LoadedAgent:
    """The parts of the app that need the agent's libraries."""

    graph: AgentGraph
    mcp: "McpServers"


class AgentLoader:
    """Load the agent once, on the thread of the first caller. Other callers wait for it.

    A single thread imports: with two threads in a circular import, Python shows a half-initialised module to one of them.
    """

    def __init__(self, build: Callable[[], LoadedAgent]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self.agent: LoadedAgent | None = None

    def load(self) -> LoadedAgent:
        """Return the agent. Call it on a thread with time to wait for two seconds, never on the event loop."""
        with self._lock:
            if self.agent is None:
                self.agent = self._build()
            return self.agent


@dataclass(frozen=True, slots=True)
class DeferredGraph:
    """The graph of the loader's agent. An early run waits for the agent."""

    loader: AgentLoader
    blocking: BlockingPool

    async def ainvoke(self, input: Any, config: "RunnableConfig", *, context: RunContext) -> Any:
        agent = self.loader.agent
        if agent is None:
            agent = await self.blocking.run(self.loader.load)
        return await agent.graph.ainvoke(input, config, context=context)
