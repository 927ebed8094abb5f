"""Several agents at one model server: each has a script of its own, since those that work side by side ask in any order."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from starlette.requests import Request

from agent.marks import MoveMark
from agent.subagents.agents import Agent
from agent.time_travel.policy import Policy
from checkpoints import MAIN
from tests.agent.running import Running, model_at, running
from tests.fakes.faults import Reply
from tests.fakes.openai import Call, FakeOpenAI
from tests.fakes.server import JSON
from tests.fakes.wire import Performance

Line = Reply | Callable[[str], Reply]  # what an agent says; a function is given the last text that it read
Story = Callable[[Running, "Cast"], Awaitable[None]]


class Cast(FakeOpenAI):
    """A model server that knows by the instructions who asks."""

    def __init__(self, **parts: Sequence[Line]) -> None:
        self.parts = {name: list(lines) for name, lines in parts.items()}
        self.heard: dict[str, list[list[JSON]]] = {
            name: [] for name in (MAIN, *parts)
        }  # each one's requests, without system
        super().__init__()

    def _perform(self, request: Request, body: JSON, number: int) -> Performance:
        system, *messages = body["messages"]
        found = re.match(r"You are (\w+), an agent", system["content"])
        who = found[1] if found else MAIN
        self.heard.setdefault(who, []).append(messages)
        line = self.parts[who].pop(0) if self.parts.get(who) else None
        said = line(str(messages[-1]["content"])) if callable(line) else line
        if said is not None:
            self.reply(said)
        return super()._perform(request, body, number)


def agent(name: str, *tools: str) -> Agent:
    return Agent(name, f"Be {name}.", tools, f"is {name}")


def ask(name: str, question: str, **fields: Any) -> Call:
    return Call("ask_agent", {"agent": name, "question": question}, **fields)


def perform(
    story: Story,
    *agents: Agent,
    policy: Policy = "off",
    approval: Sequence[str] = (),
    idle_seconds: float = 5.0,
    limits: Mapping[str, Any] | None = None,
    **parts: Sequence[Line],
) -> list[str]:
    """The story with these agents and a tool `send`, which notes to whom; main's part is `main`. What was sent."""
    sent: list[str] = []

    async def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        await asyncio.sleep(600 if to == "nobody" else 0)
        return f"sent to {to}"

    tools: list[BaseTool] = [StructuredTool.from_function(coroutine=send)]

    async def whole(cast: Cast) -> None:
        known = {each.name: each for each in agents}
        more: Any = {"approval": approval, "time_travel": policy, "agents": known}
        more |= {"idle_seconds": idle_seconds, **(limits or {})}
        async with model_at(cast) as model, running(model, tools, **more) as chat:
            await story(chat, cast)

    with Cast(**parts) as cast:
        asyncio.run(whole(cast))
        assert cast.violations == []
    return sent


def chain(chat: Running) -> list[tuple[str, str, str]]:
    """The path as (agent, type, text)."""
    return [(stored.agent, stored.type, str(stored.langchain.text)) for stored in chat.path()]


def memory(chat: Running, name: str) -> list[str]:
    return [text for who, _, text in chain(chat) if who == name]


def replaced(chat: Running) -> list[str]:
    """The answers that a move put in the place of others."""
    return [str(s.langchain.text) for s in chat.path() if MoveMark.of(s)]
