"""Run again: the questions that a place offers, and a beginning that no malformed request gets past."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agent.marks import ExcerptMark
from checkpoints import BranchNotFoundError, Caller, Draft, NewMessage, Rerun, RerunStep, Run, RunState, StateError
from checkpoints.values.place_name import PlaceName
from components.panels.run_again import begin, describe_choice
from components.services import Services
from components.views.rerun_view import describe_rerun
from tests.checkpoints.conversations import new, talked
from tests.components.parts import open_services

BRIEF = {"model": "", "instructions": "Be brief."}
ONCE = Caller(request_id="once")


def play(story: Callable[[Services, str], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_services() as services:
            await story(services, talked(services.store, "**Which** one?", "Red.", "Sure?", "Yes."))

    asyncio.run(run())


def test_the_questions_are_offered_without_notes() -> None:
    async def story(services: Services, thread_id: str) -> None:
        note = new("A note.")[0]
        note.body["data"]["additional_kwargs"] = ExcerptMark(PlaceName("branch", "there"), "sha256:0", 1, ()).to_kwargs()
        services.store.append(thread_id, [NewMessage(note.body)])
        offered = describe_choice(services, thread_id, "")
        assert [each["text"] for each in offered["questions"]] == ["Which one?", "Sure?"]
        assert (offered["model"], offered["instructions"]) == ("", "")
        with pytest.raises(BranchNotFoundError):
            describe_choice(services, thread_id, "branch:none")

    play(story)


def test_a_beginning_is_checked_and_happens_once() -> None:
    async def story(services: Services, thread_id: str) -> None:
        first = services.store.list_messages(thread_id)[2].id
        with pytest.raises(StateError, match="There is no question to ask again"):
            await begin(services, thread_id, "", "none", BRIEF, ONCE)
        with pytest.raises(StateError, match="no model"):
            await begin(services, thread_id, "", first, BRIEF | {"model": "openai:none"}, ONCE)
        assert len(services.store.list_branches(thread_id)) == 1
        begun = [await begin(services, thread_id, "", first, BRIEF, ONCE) for _ in range(2)]
        assert [run.id for run in begun] == ["once", "once"]
        assert len(services.store.list_branches(thread_id)) == 2
        run = services.runs.get_run("once")
        assert run is not None
        assert run.rerun is not None
        assert services.runs.get_rerun(run.rerun).settings == {"instructions": "Be brief."}
        await services.runner.close()

    play(story)


@pytest.mark.parametrize(
    ("state", "number", "asking", "text"),
    [
        (RunState.RUNNING, 2, True, "Asking again on other: question 2 of 2"),
        (RunState.WAITING, 1, True, "Asking again on other: question 1 of 2 waits for your permission"),
        (RunState.DONE, 1, True, "Asking again on other: question 1 of 2"),  # between two questions
        (RunState.DONE, 2, False, "All 2 questions were asked again on other."),
        (RunState.FAILED, 2, True, "Asking again on other: question 2 of 2"),  # it is not told yet
    ],
)
def test_a_rerun_is_described_by_its_last_run(state: RunState, number: int, asking: bool, text: str) -> None:
    step = RerunStep("again", number)
    run = Run("r", "t", state, Draft(), None, False, datetime(2026, 1, 1, tzinfo=UTC), None, rerun=step)
    rerun = Rerun("again", "t", "branch:b", {"model": "openai:other"}, ("one", "two"))
    view = describe_rerun(run, rerun, is_active=True)
    assert view is not None
    assert (view["asking"], view["complete"], view["text"]) == (asking, not asking, text)
    assert view["closable"] == (state not in (RunState.RUNNING, RunState.WAITING))
    assert describe_rerun(replace(run, dismissed=True), rerun, is_active=False) is None
