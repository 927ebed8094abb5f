"""The settings name every tool: those that the graph carries out are offered and withheld like any other."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agent.context.numbering import NumberStyle
from agent.tools.ask_agent import ask_agent
from agent.tools.calculator import calculator
from agent.tools.fork import fork
from agent.tools.names import ASK_AGENT, CALCULATOR, FORK, SAVE_CHECKPOINT, TOOL_NAMES
from agent.tools.registry import GRAPH_TOOLS, select_graph_tools, select_tools
from agent.tools.time_travel import save_checkpoint
from checkpoints import RunState
from tests.agent.running import Running, model_at, running
from tests.fakes.openai import Call, Calls, FakeOpenAI, Say

GOTO = Call("goto", {"position": "msg_0", "message": "Known by now."})
Story = Callable[[Running, FakeOpenAI], Awaitable[None]]


def play(story: Story, *replies: Any, enabled: Collection[str] | None = None, **options: Any) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        more: Any = {"time_travel": "allow", "graph_tools": select_graph_tools(enabled), **options}
        async with model_at(fake) as model, running(model, **more) as chat:
            await story(chat, fake)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))
        assert fake.violations == []


def offered(fake: FakeOpenAI) -> set[str]:
    return {tool["function"]["name"] for tool in fake.requests[0]["tools"]}


def test_every_tool_has_a_name_for_the_settings(tmp_path: Path) -> None:
    tools = select_tools(tavily_api_key=SecretStr("tvly-x"), tavily_base_url=None, files_dir=tmp_path)
    assert sorted(tool.name for tool in (*tools, *GRAPH_TOOLS)) == sorted(TOOL_NAMES)
    assert (calculator.name, fork.name, ask_agent.name, save_checkpoint.name) == (
        CALCULATOR,
        FORK,
        ASK_AGENT,
        SAVE_CHECKPOINT,
    )


@pytest.mark.parametrize("enabled", [(), ("goto",), ("save_checkpoint", "list_checkpoints"), ("fork",)])
def test_only_enabled_tools_are_offered(enabled: tuple[str, ...]) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        assert offered(fake) == {"calculator", *enabled}
        assert ("[msg_0]" in str(fake.requests[0]["messages"])) == ("goto" in enabled)

    play(story, Say("Hi."), enabled=enabled)


def test_a_tool_that_is_not_enabled_is_not_carried_out() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        results = [text for kind, _, text in chat.said() if kind == "tool"]
        assert results == ["This is switched off here. Go on without it."] * 3
        assert chat.store.list_checkpoints(chat.thread_id) == []
        assert len(chat.store.list_branches(chat.thread_id)) == 1

    calls = Calls((GOTO, Call("save_checkpoint", {"name": "x"}), Call("fork", {"prompts": ["a"]})))
    play(story, calls, Say("Fine."), enabled=("rewind",))


def test_a_move_that_requires_approval_waits_where_moves_are_allowed() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.WAITING

    play(story, GOTO, approval=("goto",))


@pytest.mark.parametrize(
    ("style", "sent", "described"),
    [
        ("msg", "[msg_0] hello", "such as msg_3"),
        ("short", "[m0] hello", "such as m3"),
        ("off", "hello", "the name of a check"),
    ],
)
def test_requests_and_tools_name_positions_in_the_chosen_style(style: NumberStyle, sent: str, described: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        assert fake.requests[0]["messages"][1]["content"] == sent
        goto = next(tool for tool in fake.requests[0]["tools"] if tool["function"]["name"] == "goto")
        assert described in goto["function"]["description"]

    play(story, Say("Hi."), graph_tools=select_graph_tools(None, style), numbers=style)


@pytest.mark.parametrize("style", ["short", "off"])
def test_nothing_that_the_model_reads_has_a_number_in_another_style(style: NumberStyle) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.say("again")
        read = str([(request["messages"], request["tools"]) for request in fake.requests])
        assert "Start" in read
        assert "afterwards" not in read
        assert ("msg_" in read, "m0" in read) == (False, style == "short")

    looking = Calls((Call("goto", {"position": 99, "message": "On."}), Call("list_checkpoints", {})))
    replies = Calls((Call("save_checkpoint", {"name": "Start"}),)), Say("Saved."), looking
    move = Call("goto", {"position": "Start", "message": "On."})
    tools = select_graph_tools(None, style)
    play(story, *replies, move, Say("So."), graph_tools=tools, numbers=style)


@pytest.mark.parametrize(("style", "position"), [("short", "m0"), ("short", "[m0]"), ("off", "Start")])
def test_a_move_finds_its_target_in_the_chosen_style(style: NumberStyle, position: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.say("again")
        texts = [text for _, _, text in chat.said()]
        assert ("again" in texts, texts[-1]) == (False, "So.")

    calls = Calls((Call("save_checkpoint", {"name": "Start"}),)), Say("Saved.")
    play(story, *calls, Call("goto", {"position": position, "message": "On."}), Say("So."), numbers=style)
