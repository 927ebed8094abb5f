"""Run again: the questions that a place offers, and a beginning that no malformed request gets past."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from agent.marks import ExcerptMark
from checkpoints import Draft, NewMessage, Rerun, RerunStep, Run, RunState
from checkpoints.values.place_name import PlaceName
from components.routes import errors, reruns
from components.services import Services
from components.views.rerun_view import describe_rerun
from tests.checkpoints.conversations import new, talked
from tests.components.parts import open_services

CHOICE = {"place": "", "request_id": "once", "first": "", "model": "", "instructions": "Be brief."}
Ask = Callable[..., Awaitable[httpx.Response]]


def play(story: Callable[[Services, str, Ask], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_services() as services:
            server = FastAPI()
            errors.add_error_responses(server)
            reruns.add_route(server, services)
            thread_id = talked(services.store, "**Which** one?", "Red.", "Sure?", "Yes.")
            transport = httpx.ASGITransport(app=server)
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:

                async def ask(body: Any = None, query: str = "") -> httpx.Response:
                    address = f"/api/threads/{thread_id}/rerun{query}"
                    return await (client.get(address) if body is None else client.post(address, json=body))

                await story(services, thread_id, ask)

    asyncio.run(run())


def test_the_questions_are_offered_without_notes() -> None:
    async def story(services: Services, thread_id: str, ask: Ask) -> None:
        note = new("A note.")[0]
        note.body["data"]["additional_kwargs"] = ExcerptMark(PlaceName("branch", "there"), "sha256:0", 1, ()).to_kwargs()
        services.store.append(thread_id, [NewMessage(note.body)])
        offered = (await ask()).json()
        assert [each["text"] for each in offered["questions"]] == ["Which one?", "Sure?"]
        assert (offered["model"], offered["instructions"]) == ("", "")
        assert (await ask(query="?place=branch:none")).status_code == 404

    play(story)


def test_a_beginning_is_checked_and_happens_once() -> None:
    async def story(services: Services, thread_id: str, ask: Ask) -> None:
        assert (await ask({**CHOICE, "first": 1})).status_code == 400
        assert (await ask({key: value for key, value in CHOICE.items() if key != "request_id"})).status_code == 400
        unknown = await ask({**CHOICE, "first": "none"})
        assert (unknown.status_code, unknown.text) == (400, "There is no question to ask again.")
        first = services.store.list_messages(thread_id)[2].id
        assert "no model" in (await ask({**CHOICE, "first": first, "model": "openai:none"})).text
        assert len(services.store.list_branches(thread_id)) == 1
        begun = [(await ask({**CHOICE, "first": first})).json() for _ in range(2)]
        assert begun == [{"run": "once"}, {"run": "once"}]
        assert len(services.store.list_branches(thread_id)) == 2
        run = services.runs.get_run("once")
        assert run is not None
        assert run.rerun is not None
        assert services.runs.get_rerun(run.rerun).settings == {"instructions": "Be brief."}
        await services.runner.close()

    play(story)


@pytest.mark.parametrize(
    ("state", "number", "asking", "complete"),
    [
        (RunState.RUNNING, 2, True, False),
        (RunState.DONE, 1, True, False),  # between two questions
        (RunState.DONE, 2, False, True),
        (RunState.FAILED, 2, True, False),  # it is not told yet
    ],
)
def test_a_rerun_is_described_by_its_last_run(state: RunState, number: int, asking: bool, complete: bool) -> None:
    step = RerunStep("again", number)
    run = Run("r", "t", state, Draft(), None, False, datetime(2026, 1, 1, tzinfo=UTC), None, rerun=step)
    rerun = Rerun("again", "t", "branch:b", {"model": "openai:other"}, ("one", "two"))
    view = describe_rerun(run, rerun, is_active=True)
    assert view is not None
    assert (view["asking"], view["complete"], view["total"]) == (asking, complete, 2)
    assert view["closable"] == (state is not RunState.RUNNING)
    assert describe_rerun(replace(run, dismissed=True), rerun, is_active=False) is None
