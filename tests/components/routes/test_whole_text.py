"""A long text comes to the page as its beginning, of whatever kind it is, and is given whole at its address."""

import asyncio
import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from checkpoints import NewMessage
from checkpoints.values import serde
from checkpoints.values.reasoning import Reasoning
from components.views import message_view
from components.views.shown_text import MAX_SHOWN_CHARS, MAX_SHOWN_DETAIL_CHARS, MoreView
from tests.checkpoints.conversations import talked
from tests.running_app import opened

LONG = "a line\n" * 150_000  # 1 MB
THOUGHT = LONG[:400_000]  # more is not stored
CALL = {"name": "look", "args": {"it": LONG}, "id": "c 1"}
KINDS: dict[str, list[BaseMessage]] = {
    "user": [HumanMessage(LONG)],
    "assistant": [AIMessage(LONG)],
    "reasoning": [AIMessage("yes", additional_kwargs=Reasoning(THOUGHT, None).to_kwargs())],
    "arguments": [AIMessage("", tool_calls=[CALL]), ToolMessage("ok", tool_call_id="c 1")],
    "result": [AIMessage("", tool_calls=[{**CALL, "args": {}}]), ToolMessage(LONG, tool_call_id="c 1")],
}


def list_more(view: message_view.MessageView) -> list[MoreView]:
    reasoning, cards = view["reasoning"], view["tools"]
    found = [view["more"], reasoning and reasoning["more"], *(card["more_arguments"] for card in cards)]
    return [each for each in (*found, *(card["more_result"] for card in cards)) if each]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_gets_the_beginning_and_the_address_gives_all(tmp_path: Path, kind: str) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store = app.services.store
            thread_id = store.create_thread().id
            store.append(thread_id, [NewMessage(serde.to_body(message)) for message in KINDS[kind]])
            [view] = message_view.describe_messages(store.list_messages(thread_id))
            assert len(json.dumps(view)) < 4 * MAX_SHOWN_CHARS
            [more] = list_more(view)
            answer = await browser.get(more["address"])
            assert answer.headers["content-type"] == "text/plain; charset=utf-8"
            whole = {"arguments": json.dumps({"it": LONG}, indent=2), "reasoning": THOUGHT}.get(kind, LONG)
            assert answer.text.strip() == whole.strip()
            limit = MAX_SHOWN_CHARS if kind in ("user", "assistant") else MAX_SHOWN_DETAIL_CHARS
            assert more["chars"] == len(answer.text) - limit
            wrong = (more["address"].replace("/text", "/text?part=reasoning&x="), more["address"].replace("/text", "x/text"))
            assert kind == "reasoning" or [(await browser.get(each)).status_code for each in wrong] == [404, 404]

    asyncio.run(story())


def test_a_question_is_formatted_at_its_own_address(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store = app.services.store
            thread_id, other_id = store.create_thread().id, store.create_thread().id
            store.append(thread_id, [NewMessage(serde.to_body(HumanMessage("**a** <b> $x$\n\n" + LONG)))])
            [message] = store.list_messages(thread_id)
            address = f"/api/threads/{{}}/messages/{message.id}/formatted"
            html = (await browser.get(address.format(thread_id))).json()["html"]
            assert html.startswith("<p><strong>a</strong> &lt;b&gt; ")
            assert len(html) < 4 * MAX_SHOWN_CHARS
            assert (await browser.get(address.format(other_id))).status_code == 404

    asyncio.run(story())


@pytest.mark.parametrize("gone", [False, True])
def test_a_description_is_given_whole_wherever_its_checkpoint_is_shown(tmp_path: Path, gone: bool) -> None:
    """On another branch, and where the last restore removed it."""

    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store, long = app.services.store, "A long way. " * 40
            thread_id = talked(store, *"abcd")
            first, last = store.list_checkpoints(thread_id)
            store.change_checkpoint(thread_id, last.id, description=long)
            store.restore(thread_id, first.id, keep_future=not gone)
            assert (await browser.get(f"/api/threads/{thread_id}/checkpoints/{last.id}/description")).text == long
            store.undo(thread_id)
            store.delete_checkpoint(thread_id, last.id)
            assert (await browser.get(f"/api/threads/{thread_id}/checkpoints/{last.id}/description")).status_code == 404

    asyncio.run(story())
