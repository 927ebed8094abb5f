"""Quote in this branch: a note from another branch, with a draft of the model, undone, exported and found again."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage

from agent.context.prices import count_usage
from agent.run.conclusions import MAX_DRAFTS, ConclusionWriter, DraftedConclusion, NotDraftedError
from agent.time_travel.excerpts import ExcerptRequest
from checkpoints import (
    LOCAL_OWNER,
    Caller,
    Database,
    Message,
    NewMessage,
    OperationDetail,
    RunState,
    StateError,
    Store,
    act_for,
)
from checkpoints.interchange import reading, transfer
from checkpoints.people.members import Members
from checkpoints.person_limits import PersonLimits
from checkpoints.values import serde
from checkpoints.values.errors import ReadOnlyError
from checkpoints.values.model import ThreadRole
from components.panels.bring_home import _build_line, add_note, draft_conclusion, list_offered, read_origin
from components.replies import to_plain
from components.routes import excerpts
from components.services import Services
from components.views.change_log import build_log
from components.views.message_view import describe_messages
from components.views.operations import describe_notice
from components.views.places import describe_place_name
from tests.checkpoints.conversations import new, talked
from tests.components.parts import open_services

RED = ExcerptRequest("Red.")
ONCE = Caller(request_id="once")


def part_ways(store: Store) -> tuple[str, str]:
    """Return a conversation that stands on its second branch, and its first branch as a place."""
    thread_id = talked(store, "a", "b", "Which?", "**Red**, of 12.")
    first = store.get_thread(thread_id).branch_id
    store.fork(thread_id, store.list_messages(thread_id)[1].id)
    store.append(thread_id, new("Blue?", "No."))
    return thread_id, f"branch:{first}"


def play(story: Callable[[Services, str, str], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_services() as services:
            await story(services, *part_ways(services.store))

    asyncio.run(run())


def test_a_note_is_added_once_says_its_origin_and_is_undone() -> None:
    async def story(services: Services, thread_id: str, place: str) -> None:
        store = services.store
        offered = list_offered(read_origin(store, thread_id, place))
        lines = [json.dumps(to_plain(_build_line(each))) for each in offered]
        assert ["You: " in lines[0], "Which?" in lines[0], "Agent: " in lines[1], "Red, of 12." in lines[1]] == [True] * 4
        wanted = ExcerptRequest("Red it <b>is</b>.", [offered[1].id])
        added = [await add_note(services, thread_id, place, wanted, ONCE) for _ in range(2)]
        assert added[0].result == added[1].result
        path = store.list_messages(thread_id)
        assert len(path) == 5
        view = describe_messages(path)[-1]
        assert (view["role"], view["label"]) == ("note", "note from branch “main”")
        assert "Red it &lt;b&gt;is&lt;/b&gt;." in view["html"]
        assert "<strong>Red</strong>, of 12." in view["html"]
        assert view["excerpt"] is not None
        assert view["excerpt"]["address"] == f"/api/threads/{thread_id}/excerpts/{path[-1].id}/place"
        found = excerpts._locate_origin(store, thread_id, path[-1].id)
        assert found.items() >= {"message": path[1].id, "standing": "branch", "branch": "main"}.items()
        last = store.get_last_operation(thread_id)
        assert last is not None
        assert (describe_notice(last) or {})["text"] == "A note from branch “main” was added"
        assert build_log([last], {})[0]["text"] == "Brought a note from branch “main”"
        before = replace(last, detail=OperationDetail(subject="excerpt", name="branch “main”"))  # of an earlier version
        assert build_log([before], {}) == build_log([last], {})
        store.undo(thread_id)
        assert len(store.list_messages(thread_id)) == 4

    play(story)


def test_a_note_is_named_in_the_language_of_its_reader(german: None) -> None:
    async def story(services: Services, thread_id: str, place: str) -> None:
        store = services.store
        assert describe_place_name(read_origin(store, thread_id, place).place) == "Zweig „main“"
        elsewhere = next(branch.head_id for branch, _ in store.list_branches(thread_id) if place.endswith(branch.id))
        other = f"message:{elsewhere}"
        for each, words in ((place, "Zweig „main“"), (other, "andere Stelle")):
            await add_note(services, thread_id, each, RED, Caller(request_id=each))
            view = describe_messages(store.list_messages(thread_id))[-1]
            assert view["label"] == f"Notiz aus {words}"
            assert (view["excerpt"] or {})["origin"] == words
            last = store.get_last_operation(thread_id)
            assert last is not None
            assert words in build_log([last], {})[0]["text"]

    play(story)


def test_an_imported_note_leads_to_its_origin_there() -> None:
    async def story(services: Services, thread_id: str, place: str) -> None:
        store = services.store
        await add_note(services, thread_id, place, RED, ONCE)
        elsewhere = Store(Database.in_memory())
        there = transfer.import_thread(elsewhere, reading.read_document(transfer.export(store, thread_id))).result
        note = elsewhere.list_messages(there)[-1]
        place_there = excerpts._locate_origin(elsewhere, there, note.id)
        assert (place_there["standing"], place_there["branch"]) == ("branch", "main")
        assert place_there["message"] == elsewhere.list_messages(there)[1].id
        elsewhere.database.close()

    play(story)


def test_it_is_refused_while_an_answer_is_written_or_a_call_waits() -> None:
    async def story(services: Services, thread_id: str, place: str) -> None:
        runs = services.runs
        run = runs.begin_run(thread_id, new("c")[0])
        with pytest.raises(StateError, match="answer"):
            await add_note(services, thread_id, place, RED, ONCE)
        calling = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
        runs.commit_message(run, NewMessage(serde.to_body(calling)))
        runs.end_run(run, RunState.WAITING)
        with pytest.raises(StateError, match="A tool call waits for you: decide about it first"):
            await add_note(services, thread_id, place, RED, ONCE)
        assert len(services.store.list_messages(thread_id)) == 6

    play(story)


@pytest.mark.parametrize(
    ("place", "wanted"),
    [("branch:", RED), ("rubbish", RED), ("", RED), (None, ExcerptRequest()), (None, ExcerptRequest("", ["x"] * 51))],
)
def test_what_cannot_be_a_note_is_refused(place: str | None, wanted: ExcerptRequest) -> None:
    async def story(services: Services, thread_id: str, there: str) -> None:
        with pytest.raises(StateError):
            await add_note(services, thread_id, there if place is None else place, wanted, ONCE)
        assert len(services.store.list_messages(thread_id)) == 4

    play(story)


def test_a_note_is_refused_once_the_conversation_has_changed_elsewhere() -> None:
    async def story(services: Services, thread_id: str, place: str) -> None:
        with pytest.raises(StateError, match="changed elsewhere"):
            await add_note(services, thread_id, place, RED, Caller(request_id="once", expected_version=1))

    play(story)


def test_a_draft_counts_for_who_asks_for_it_and_is_refused_beyond_their_tokens() -> None:
    async def story(services: Services, thread_id: str, place: str) -> None:
        store = services.store
        store.meter.limits = PersonLimits(tokens_a_day=10)
        drafted = await draft_conclusion(services, thread_id, place)
        usage = count_usage(drafted.usage, drafted.spec, {})
        used = usage.input + usage.output
        assert used > 10
        assert store.meter.count_use(LOCAL_OWNER, store.now()).tokens_today == used
        with pytest.raises(StateError, match="You have used the 10 tokens that you have for a day"):
            await draft_conclusion(services, thread_id, place)
        assert store.meter.count_use(LOCAL_OWNER, store.now()).tokens_today == used

    play(story)


def test_who_only_reads_lets_no_model_write() -> None:
    async def story(services: Services, thread_id: str, place: str) -> None:
        store = services.store
        with act_for(LOCAL_OWNER, only_reads=True), pytest.raises(StateError, match=str(ReadOnlyError())):
            await draft_conclusion(services, thread_id, place)
        store.database.separate_owners()
        with act_for(LOCAL_OWNER):
            Members(store).add_member(thread_id, "bob", ThreadRole.READER)
        with act_for("bob"), pytest.raises(StateError, match=str(ReadOnlyError())):
            await draft_conclusion(services, thread_id, place)

    play(story)


def test_drafts_of_one_person_keep_nobody_else_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(services: Services, thread_id: str, __: str) -> None:
        all_asked, released, asked = asyncio.Event(), asyncio.Event(), []

        async def ask_model(_: ConclusionWriter, thread_id: str, __: object) -> DraftedConclusion:
            asked.append(thread_id)
            if len(asked) > MAX_DRAFTS:
                all_asked.set()
            await released.wait()
            return DraftedConclusion("text", "demo", {})

        monkeypatch.setattr(ConclusionWriter, "_ask", ask_model)
        services.store.database.separate_owners()
        writer, messages = services.runner.conclusions, [await services.run_blocking(_read_first, services.store, thread_id)]
        async with asyncio.TaskGroup() as drafts:
            with act_for("ann"):
                for number in range(MAX_DRAFTS):
                    drafts.create_task(writer.draft(f"ann's {number}", messages))
            with act_for("bob"):
                drafts.create_task(writer.draft("bob's", messages))
            await all_asked.wait()
            with act_for("ann"), pytest.raises(NotDraftedError, match="being written already"):
                await writer.draft("another of ann's", messages)
            released.set()
        assert asked[-1] == "bob's"

    play(story)


def _read_first(store: Store, thread_id: str) -> Message:
    with act_for(LOCAL_OWNER):
        return store.list_messages(thread_id)[0]


def test_the_model_drafts_a_conclusion_and_nothing_is_kept() -> None:
    async def story(services: Services, thread_id: str, place: str) -> None:
        version = services.store.get_thread(thread_id).version
        drafted = await draft_conclusion(services, thread_id, place)
        assert "of 12." in drafted.text
        assert drafted.usage
        assert services.store.get_thread(thread_id).version == version
        with pytest.raises(StateError, match="That place has no messages of its own"):
            await draft_conclusion(services, thread_id, "")

    play(story)
