"""Titles: what is asked after the first answer, what becomes a title, and that a person's always wins."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import patch

import pytest

from agent.context.prompts import CONVERSATION, TITLE_PROMPT
from agent.demo.model import DemoChatModel
from agent.demo.side_calls import write_demo_title
from agent.events import HeadMoved
from agent.preparation.requests import build_user_message
from agent.run.titles import MAX_TITLE_CHARS, MAX_TITLE_TOKENS, clean_title, make_title
from agent.tracing.events import TitleAsked
from checkpoints import UNTITLED, Caller, OperationKind
from checkpoints.values.files import parse_file
from components.routes.usage import read_title_usage
from tests.agent.running import Running, model_at, running
from tests.agent.tracing.test_run_trace import Listener
from tests.attachments import png
from tests.fakes.openai import FakeOpenAI, Fault, Say

Story = Callable[[Running, FakeOpenAI], Awaitable[None]]


def play(story: Story, *replies: Any, titles: float = 20, **options: Any) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, titles=titles, **options) as chat:
            await story(chat, fake)

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))


def title(chat: Running) -> str:
    return chat.store.get_thread(chat.thread_id).title


async def titled(chat: Running) -> None:
    await chat.until(lambda: any(isinstance(event, HeadMoved) for event in chat.events))


async def idle(chat: Running) -> None:
    """Wait until no title is asked for any more."""
    await chat.until(lambda: not [task for task in asyncio.all_tasks() if task.get_name().startswith("title")])


def test_the_first_answer_gives_the_conversation_a_title_that_is_undone_with_its_turn() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("## How do I **bake** bread?")
        await titled(chat)
        assert title(chat) == "Baking bread at home"
        operation = chat.store.get_last_operation(chat.thread_id)
        assert operation is not None
        assert (operation.kind, operation.actor, operation.undo_group) == (OperationKind.RENAME, "system", None)
        usage = read_title_usage(chat.runs, chat.thread_id, {})
        assert (usage.input > 0, usage.output > 0, usage.answers) == (True, True, 0)
        request = fake.requests[-1]
        system, question = request["messages"]
        assert system == {"role": "system", "content": TITLE_PROMPT}
        first, *entries, last = question["content"].splitlines()
        assert (first, last) == ("<conversation>", "</conversation>")
        assert [each["role"] for each in json.loads("".join(entries))] == ["user", "assistant"]
        assert MAX_TITLE_TOKENS in (request.get("max_tokens"), request.get("max_completion_tokens"))
        chat.store.undo(chat.thread_id)
        assert (title(chat), len(chat.path())) == (UNTITLED, 0)
        chat.store.redo(chat.thread_id)
        assert (title(chat), len(chat.path())) == ("Baking bread at home", 2)
        await chat.say("And cake?")
        await idle(chat)
        assert (title(chat), len(fake.requests)) == ("Baking bread at home", 3)  # asked once

    play(story, Say("Slowly."), Say('Title: "**Baking bread at home**."\n'), Say("The same."))


def test_a_later_answer_reads_nothing_for_a_title() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("How do I bake bread?")
        await titled(chat)
        with patch.object(type(chat.runs), "has_answered_before") as looked_up:
            await chat.say("And cake?")
            await idle(chat)
        assert (len(fake.requests), looked_up.call_count) == (3, 0)

    play(story, Say("Slowly."), Say("Baking bread"), Say("The same."))


def test_a_persons_title_wins_also_when_it_comes_meanwhile() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.send("How do I bake bread?")
        chat.store.rename_thread(chat.thread_id, "Mine")
        await chat.end(run)
        await idle(chat)
        assert (title(chat), len(fake.requests)) == ("Mine", 1)
        assert chat.runs.give_title(run, "Theirs", model="m", usage={}) is None
        chat.store.undo(chat.thread_id)
        assert chat.runs.give_title(run, "Theirs", model="m", usage={}) is None

    play(story, Say("Slowly."))


@pytest.mark.parametrize("fault", [Fault("hang"), Fault("status", status=401), Say("**")])
def test_a_failed_title_leaves_the_first_messages_text_and_the_end_of_the_run(fault: Any) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.say("Bread?")
        await idle(chat)
        assert (title(chat), run.error) == ("Bread?", None)
        await chat.say("Cake?")
        await idle(chat)
        assert len(fake.requests) == 3  # it is not asked again

    play(story, Say("Yes."), fault, Say("Yes."), titles=0.2 if fault == Fault("hang") else 20)


def test_the_call_is_traced_and_no_title_is_asked_after_a_failure() -> None:
    listener = Listener()

    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("Bread?")
        await idle(chat)
        assert len(fake.requests) == 1
        await chat.runner.retry(chat.thread_id, caller=Caller())
        await titled(chat)
        assert (title(chat), listener.last(TitleAsked).call.answer.text) == ("Bread", "Bread")
        assert listener.kinds()[-2:] == ["RunEnded", "TitleAsked"]

    play(story, Fault("status", status=401), Say("Yes."), Say("Bread"), tracer=listener)


def test_the_demo_gives_titles_without_a_model() -> None:
    async def story() -> None:
        async with running(DemoChatModel(seconds_per_token=0), titles=20) as chat:
            await chat.say("Please tell me about the `weather` tomorrow, and the day after that!")
            await titled(chat)
            assert title(chat) == "Weather tomorrow, and the day after"

    asyncio.run(story())


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("What is 6 * 7?", "6 * 7"),
        ("Hello", "Hello"),
        ("What?", "What"),
        ("- [ ] milk", "Milk"),
        ("What can I do here?", "What can I do here"),
    ],
)
def test_a_demo_title_leaves_out_the_words_that_begin_any_question(asked: str, shown: str) -> None:
    assert write_demo_title(CONVERSATION.wrap(json.dumps([{"text": asked}]))) == shown


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("“Bread”", "Bread"),
        ('"Bread".', "Bread"),
        ("**“重点”**内容", "“重点”内容"),
        ("“Bread” and “butter”", "“Bread” and “butter”"),
        ("__init__.py explained", "__init__.py explained"),
        ("# Bread\n\nThis title is short.", "Bread"),
        ("title: Bread.", "Bread"),
        ("`Bread` \u202e<b>\x00", "Bread <b>"),
        ("x" * 100, "x" * (MAX_TITLE_CHARS - 1) + "…"),
        ("```\nBread\n```", "Bread"),
        ("\n \n", ""),
        (r"Solving **$x^2$**", "Solving x²"),
        ("/tag work", "tag work"),
    ],
)
def test_an_answer_becomes_one_short_line_without_markdown_and_quotes(answer: str, shown: str) -> None:
    assert clean_title(answer) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Hello **world**", "Hello world"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("What is 2*3*4 and __init__ and snake_case?", "What is 2*3*4 and __init__ and snake_case?"),
        ("> see [this *page*](http://x)", "see this page"),
        ("***", "***"),
        (r"/tag **“Bold”** $x^2 \le \beta$ work", "tag “Bold” x² ≤ β work"),
        ("/undo", "undo"),
        ("/etc/hosts is empty", "/etc/hosts is empty"),
        ("\n  Weather today \nand more", "Weather today"),
        ("  \n", "New conversation"),
        ("word " * 50, "word " * 11 + "word…"),
    ],
)
def test_the_first_title_is_the_first_line_without_markdown(text: str, shown: str) -> None:
    assert make_title(build_user_message(text)) == shown


def test_a_first_message_with_files_gives_its_text_or_else_the_name_of_a_file_as_the_title() -> None:
    attached = [parse_file(name, png()) for name in ("a.png", "b.png")]
    assert make_title(build_user_message("**See** this", attached)) == "See this"
    assert make_title(build_user_message("", attached)) == "a.png"


def test_the_operators_model_is_asked_where_there_is_one() -> None:
    async def story(chat: Running, _: FakeOpenAI) -> None:
        await chat.say("Bread?")
        await titled(chat)
        given = chat.runs.find_title(chat.thread_id)
        assert given is not None
        assert (given.detail.model, title(chat)) == ("openai:small", "Bread")

    play(story, Say("Yes."), Say("Bread"), titles_model="openai:small")
