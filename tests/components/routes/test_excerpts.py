"""Quote in this branch: a note from another branch, with a draft of the model, undone, exported and found again."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from langchain_core.messages import AIMessage

from agent.run.conclusions import MAX_DRAFTS, ConclusionWriter, DraftedConclusion, NotDraftedError
from checkpoints import LOCAL_OWNER, Database, Message, NewMessage, OperationDetail, RunState, Store, act_for
from checkpoints.interchange import reading, transfer
from checkpoints.people.members import Members
from checkpoints.person_limits import PersonLimits
from checkpoints.values import serde
from checkpoints.values.errors import ReadOnlyError
from checkpoints.values.model import ThreadRole
from components.routes import errors, excerpts
from components.services import Services
from components.views.change_log import build_log
from components.views.message_view import describe_messages
from components.views.operations import describe_notice
from tests.checkpoints.conversations import new, talked
from tests.components.parts import open_services

Ask = Callable[..., Awaitable[httpx.Response]]


def part_ways(store: Store) -> tuple[str, str]:
    """Return a conversation that stands on its second branch, and its first branch as a place."""
    thread_id = talked(store, "a", "b", "Which?", "**Red**, of 12.")
    first = store.get_thread(thread_id).branch_id
    store.fork(thread_id, store.list_messages(thread_id)[1].id)
    store.append(thread_id, new("Blue?", "No."))
    return thread_id, f"branch:{first}"


def play(story: Callable[[Services, Ask, str, str], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_services() as services:
            server = FastAPI()
            errors.add_error_responses(server)
            excerpts.add_route(server, services)
            thread_id, place = part_ways(services.store)
            transport = httpx.ASGITransport(app=server)
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:

                async def ask(path: str, body: Any = None) -> httpx.Response:
                    address = f"/api/threads/{thread_id}/{path}"
                    return await (client.get(address) if body is None else client.post(address, json=body))

                await story(services, ask, thread_id, place)

    asyncio.run(run())


def test_a_note_is_added_once_says_its_origin_and_is_undone() -> None:
    async def story(services: Services, ask: Ask, thread_id: str, place: str) -> None:
        store = services.store
        offered = (await ask(f"excerpts?place={place}")).json()
        assert [(each["role"], each["text"]) for each in offered["messages"]] == [
            ("user", "Which?"),
            ("assistant", "Red, of 12."),
        ]
        body = {
            "place": place,
            "request_id": "once",
            "text": "Red it <b>is</b>.",
            "messages": [offered["messages"][1]["id"]],
        }
        replies = [await ask("excerpts", body) for _ in range(2)]
        assert replies[0].json() == replies[1].json()
        path = store.list_messages(thread_id)
        assert len(path) == 5
        view = describe_messages(path)[-1]
        assert (view["role"], view["label"]) == ("note", "note from branch “main”")
        assert "Red it &lt;b&gt;is&lt;/b&gt;." in view["html"]
        assert "<strong>Red</strong>, of 12." in view["html"]
        assert view["excerpt"] is not None
        found = (await ask(view["excerpt"]["address"].partition(f"{thread_id}/")[2])).json()
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
    async def story(services: Services, ask: Ask, thread_id: str, place: str) -> None:
        store = services.store
        assert (await ask(f"excerpts?place={place}")).json()["name"] == "Zweig „main“"
        elsewhere = next(branch.head_id for branch, _ in store.list_branches(thread_id) if place.endswith(branch.id))
        other = f"message:{elsewhere}"
        for each, words in ((place, "Zweig „main“"), (other, "andere Stelle")):
            reply = await ask("excerpts", {"place": each, "request_id": each.replace(":", "-"), "text": "Red."})
            assert (reply.status_code, words) == (200, words)
            view = describe_messages(store.list_messages(thread_id))[-1]
            assert view["label"] == f"Notiz aus {words}"
            assert (view["excerpt"] or {})["origin"] == words
            last = store.get_last_operation(thread_id)
            assert last is not None
            assert words in build_log([last], {})[0]["text"]

    play(story)


def test_an_imported_note_leads_to_its_origin_there() -> None:
    async def story(services: Services, ask: Ask, thread_id: str, place: str) -> None:
        store = services.store
        assert (await ask("excerpts", {"place": place, "request_id": "1", "text": "Red."})).status_code == 200
        elsewhere = Store(Database.in_memory())
        there = transfer.import_thread(elsewhere, reading.read_document(transfer.export(store, thread_id))).result
        note = elsewhere.list_messages(there)[-1]
        place_there = excerpts._locate_origin(elsewhere, there, note.id)
        assert (place_there["standing"], place_there["branch"]) == ("branch", "main")
        assert place_there["message"] == elsewhere.list_messages(there)[1].id
        elsewhere.database.close()

    play(story)


def test_it_is_refused_while_an_answer_is_written_or_a_call_waits() -> None:
    async def story(services: Services, ask: Ask, thread_id: str, place: str) -> None:
        runs, body = services.runs, {"place": place, "request_id": "1", "text": "Red."}
        run = runs.begin_run(thread_id, new("c")[0])
        refused = await ask("excerpts", body)
        assert (refused.status_code, "answer" in refused.text) == (400, True)
        calling = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
        runs.commit_message(run, NewMessage(serde.to_body(calling)))
        runs.end_run(run, RunState.WAITING)
        refused = await ask("excerpts", body)
        assert (refused.status_code, refused.text) == (400, "A tool call waits for you: decide about it first.")
        stale = await ask("excerpts", {**body, "version": 1})
        assert stale.status_code == 400
        assert len(services.store.list_messages(thread_id)) == 6

    play(story)


@pytest.mark.parametrize(
    "body", [[], {}, {"place": 1}, {"place": "", "messages": ["x"] * 51}, {"place": "branch:", "text": "a"}]
)
def test_a_request_that_no_page_sends_is_refused(body: Any) -> None:
    async def story(_: Services, ask: Ask, __: str, ___: str) -> None:
        assert (await ask("excerpts", body)).status_code in (400, 404)

    play(story)


def test_a_draft_counts_for_who_asks_for_it_and_is_refused_beyond_their_tokens() -> None:
    async def story(services: Services, ask: Ask, _thread_id: str, place: str) -> None:
        store = services.store
        store.meter.limits = PersonLimits(tokens_a_day=10)
        drafted = (await ask("conclusion", {"place": place})).json()["usage"]
        used = drafted["input"] + drafted["output"]
        assert used > 10
        assert store.meter.count_use(LOCAL_OWNER, store.now()).tokens_today == used
        refused = await ask("conclusion", {"place": place})
        assert refused.status_code == 400
        assert refused.text.startswith("You have used the 10 tokens that you have for a day.")
        assert store.meter.count_use(LOCAL_OWNER, store.now()).tokens_today == used

    play(story)


def test_who_only_reads_lets_no_model_write() -> None:
    async def story(services: Services, ask: Ask, thread_id: str, place: str) -> None:
        store = services.store
        with act_for(LOCAL_OWNER, only_reads=True):
            refused = await ask("conclusion", {"place": place})
        assert (refused.status_code, refused.text) == (400, str(ReadOnlyError()))
        store.database.separate_owners()
        with act_for(LOCAL_OWNER):
            Members(store).add_member(thread_id, "bob", ThreadRole.READER)
        with act_for("bob"):
            refused = await ask("conclusion", {"place": place})
        assert (refused.status_code, refused.text) == (400, str(ReadOnlyError()))

    play(story)


def test_drafts_of_one_person_keep_nobody_else_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(services: Services, _: Ask, thread_id: str, __: str) -> None:
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
    async def story(services: Services, ask: Ask, thread_id: str, place: str) -> None:
        version = services.store.get_thread(thread_id).version
        drafted = (await ask("conclusion", {"place": place})).json()
        assert "of 12." in drafted["text"]
        assert drafted["usage"]["input"] > 0
        assert services.store.get_thread(thread_id).version == version
        empty = await ask("conclusion", {"place": ""})
        assert (empty.status_code, empty.text) == (400, "That place has no messages of its own.")

    play(story)
