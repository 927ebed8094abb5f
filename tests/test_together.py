"""Several people in one conversation behind one server: an editor, a reader, one who was let out, and a stranger."""

import asyncio
import json
import re
import uuid
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from checkpoints import EVERYBODY, Caller, NewMessage, RunState, ThreadNotFoundError, act_for
from checkpoints.interchange.text_exports import export_markdown
from checkpoints.people.members import Members
from checkpoints.people.shares import NewShare, Shares
from checkpoints.values.model import ThreadRole
from components.broadcasts import Frame
from components.members import MemberRequests
from components.services import Services
from components.streams.thread_frames import stream_frames
from tests import test_people, walk
from tests.agent.run.wires import until
from tests.checkpoints.conversations import new
from tests.components.streams.test_thread_frames import Screen
from tests.people import NOTHING, Things
from tests.postgres import Postgres
from tests.sharing import GONE, change_members, read_refusal
from tests.test_people import CLIENT, SECRET, URL, Office, ask, begin_long_answer, blur
from tests.test_two_servers import serve_several

serve = test_people.serve  # the fixture
JSON = dict[str, Any]
OWNER_ONLY = "Only the owner of this conversation can do this."
LEAVING = '"type": "member-leave"'
READ_ONLY = "You can read this conversation, not write in it."


async def post(office: Office, person: str, path: str, body: JSON, *, wanted: int = 200) -> Any:
    async with office.used_browser(person) as browser:
        reply = await browser.post(path, json=body)
    assert reply.status_code == wanted, reply.text
    return reply.json() if wanted == 200 else reply.text


async def let(office: Office, who: str, thread: str, change: str, person: str, role: str = "reader") -> JSON:
    """Let a person in, change their role, remove them, or leave."""
    async with office.used_browser(who) as browser:
        reply: JSON = await change_members(browser, thread, change, person, role)
    return reply


async def send(office: Office, person: str, thread: str, text: str, version: int = 2) -> JSON:
    action = {"type": "send", "request_id": str(uuid.uuid4()), "text": text, "version": version}
    answer = await post(office, person, "/api/actions/composer-panel", {"pathname": f"/t/{thread}", "action": action})
    reply: JSON = answer["composer-panel"]["reply"]
    return reply


def follow(office: Office, person: str, thread: str) -> "asyncio.Task[list[JSON]]":
    """Follow a conversation until the server closes the socket; return all that it has sent."""
    headers = {"host": "waymark.example", "origin": URL, "x-waymark-proxy-secret": SECRET, "x-forwarded-user": person}
    request = walk.Request("WEBSOCKET", f"/api/threads/{thread}/events")
    return asyncio.create_task(walk.follow(office.app.asgi, request, headers, CLIENT))


async def wait_for_followers(office: Office, count: int) -> None:
    broadcasts = office.app.services.broadcasts
    async with asyncio.timeout(60):
        while len(broadcasts._running) < count:  # noqa: ASYNC110  (a page says nothing when it is ready)
            await asyncio.sleep(0.01)


async def poll(office: Office, person: str, thread: str, identifier: str, seen: int | None = None) -> JSON:
    """Ask for the frames of a conversation where no socket gets through."""
    async with office.browser(person) as browser:
        query = {"poll": identifier} | ({} if seen is None else {"seen": seen})
        reply: JSON = (await browser.post(f"/api/threads/{thread}/events", params=query)).json()
    return reply


def list_kinds(sent: list[JSON]) -> list[str]:
    return [json.loads(each["text"])["kind"] for each in sent if each["type"] == "websocket.send"]


def test_two_people_work_on_one_conversation_until_one_is_let_out(serve: Any) -> None:
    async def story() -> None:
        async with serve() as office:
            store, thread = office.app.services.store, str(uuid.uuid4())
            first = {"type": "send", "request_id": thread, "text": "a heron of ann"}
            await post(office, "ann", "/api/actions/composer-panel", {"pathname": "/", "action": first})
            await office.rest()
            assert read_refusal(await let(office, "bob", thread, "add", "bob", "editor")) == GONE
            assert read_refusal(await let(office, "ann", thread, "add", "bob", "editor")) is None
            with act_for("ann"):
                assert [(each.person, each.role) for each in Members(store).list_members(thread)] == [("bob", "editor")]
            assert read_refusal(await let(office, "bob", thread, "add", "eve")) == OWNER_ONLY
            async with office.browser("bob") as browser:
                listed = (await browser.get("/api/threads?view=all")).json()["threads"]
            assert [(each["id"], each["owner"]) for each in listed] == [(thread, "ann")]
            pages = [follow(office, person, thread) for person in ("ann", "bob")]
            await wait_for_followers(office, 2)
            assert (await send(office, "bob", thread, "a kingfisher of bob"))["ok"]
            await office.rest()
            with act_for("ann"):
                question, answer = store.list_messages(thread)[-2:]
                run = office.app.services.runs.get_latest_run(thread)
            assert (question.person, answer.person, run and run.person) == ("bob", "bob", "bob")
            await let(office, "ann", thread, "remove", "bob")
            sent = await pages[1]
            assert sent[-1] == {"type": "websocket.close", "code": 4404, "reason": ""}
            kinds = list_kinds(sent)
            assert (kinds[0], kinds.count("start"), kinds.count("end")) == ("hello", 1, 1)
            assert read_refusal(await let(office, "bob", thread, "leave", "own")) == GONE
            assert not pages[0].done()
            pages[0].cancel()
            async with office.browser("ann") as browser:
                exported = (await browser.get(f"/api/threads/{thread}/export?format=html")).text
            assert "a kingfisher of bob" in exported  # who asked is for those who are let in
            assert "<p class='note-label'>" not in exported
            refused = await send(office, "ann", thread, "one more heron")
            assert "bob changed this conversation in the meantime" in str(refused)
            with act_for("ann"):
                version = store.get_thread(thread).version
            assert (await send(office, "ann", thread, "one more heron", version))["ok"]
            await office.rest()
            with act_for("ann"):
                assert store.list_messages(thread)[-1].person == "ann"

    asyncio.run(story())


def test_who_is_let_out_gets_no_frame_more_where_no_socket_gets_through(serve: Any) -> None:
    async def story() -> None:
        async with serve(demo_seconds_per_token=5) as office:
            thread = office.fill("ann").thread
            let_in(office, thread, bob=ThreadRole.EDITOR)
            told = await poll(office, "bob", thread, "one")
            assert [json.loads(each)["kind"] for each in told["frames"]] == ["hello"]
            assert await poll(office, "bob", thread, "one") == told  # the reply may have been lost
            assert await poll(office, "eve", thread, "one", 0) == {"frames": [], "code": 1001}
            assert await poll(office, "eve", thread, "one") == {"frames": [], "code": 4404}
            await let(office, "ann", thread, "remove", "bob")
            async with asyncio.timeout(60):
                while (told := await poll(office, "bob", thread, "one", 1))["code"] is None:
                    assert told["frames"] == []
            assert told == {"frames": [], "code": 4404}
            assert await poll(office, "bob", thread, "two") == {"frames": [], "code": 4404}

    asyncio.run(story())


def read_headings(text: str) -> list[str]:
    """The words in a document for those who asked, in HTML or in Markdown."""
    found = re.findall(r'<article class="message message-user"[^>]*><header><span>([^<]*)<|^## (.*)$', text, re.MULTILINE)
    return [html or markdown for html, markdown in found]


def test_no_document_puts_words_under_anothers_name(serve: Any) -> None:
    async def story() -> None:
        async with serve() as office, office.browser(None, ("192.0.2.7", 1)) as stranger:
            store = office.app.services.store
            with act_for("ann"):
                thread = store.create_thread(title="heron").id
                store.append(thread, [*new("of ann"), NewMessage(new("of a file")[0].body, created_at=1)])
                Members(store).add_member(thread, "bob", ThreadRole.EDITOR)
                for token, shows_name in (("named", True), ("quiet", False)):
                    Shares(store).make_link(token, NewShare(thread, shows_name=shows_name))
            with act_for("bob"):
                store.append(thread, new("of bob"))
            pages = {token: (await stranger.get(f"/shared?token={token}")).text for token in ("named", "quiet")}
            assert read_headings(pages["named"]) == ["ann", "Question", "Another person"]
            assert read_headings(pages["quiet"]) == ["You", "You", "Another person"]
            for person, headings in (("ann", ["You", "You", "Another person"]), ("bob", ["Another person", "You", "You"])):
                async with office.browser(person) as browser:
                    for kind in ("html", "markdown"):
                        made = await browser.get(f"/api/threads/{thread}/export?format={kind}&redact=elsewhere")
                        assert read_headings(made.text) == headings, (person, kind)
            with act_for(EVERYBODY):
                assert read_headings(export_markdown(store, thread)) == ["You", "You", "Another person"]

    asyncio.run(story())


def test_only_the_pages_of_whoever_is_let_in_or_out_are_told(serve: Any) -> None:
    async def story() -> None:
        async with serve() as office:
            services = office.app.services
            frames: dict[str, list[Frame]] = {}
            tasks = []
            for person in ("ann", "bob", "eve"):
                with act_for(person):
                    own = services.store.create_thread(title=person).id
                    frames[person] = []
                    tasks.append(asyncio.create_task(note_frames(services, own, frames[person])))
            await until(lambda: all(frames.values()))
            with act_for("ann"):
                thread = services.store.create_thread(title="heron").id
            await let(office, "ann", thread, "add", "bob")
            await until(lambda: len(frames["bob"]) == 2)
            await let(office, "ann", thread, "remove", "bob")
            await until(lambda: len(frames["bob"]) == 3)
            added, removed = (each["change"] for each in frames["bob"][1:])
            assert [(row["id"], row["owner"]) for row in added["threads"]] == [(thread, "ann")]
            assert (added["fields"]["shared"], removed["fields"]["shared"], removed["threads"]) == ([thread], [], [])
            assert [len(frames[each]) for each in ("ann", "eve")] == [1, 1]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("role", "words"), [("reader", "You can read this conversation, not write in it."), ("editor", None)]
)
def test_a_page_is_told_before_an_attempt_whether_its_person_may_write(serve: Any, role: str, words: str | None) -> None:
    async def story() -> None:
        async with serve() as office:
            ann = office.fill("ann")
            await let(office, "ann", ann.thread, "add", "bob", role)
            shown = await post(office, "bob", "/api/panels", {"pathname": f"/t/{ann.thread}"})
            assert shown["composer-panel"]["data"]["read_only"] == words
            assert shown["transcript"]["data"]["read_only"] == (words is not None)
            assert shown["history"]["data"]["save"] == {"enabled": words is None, "reason": words}
            assert shown["undo"]["disabled"] or words is None
            own = await post(office, "ann", "/api/panels", {"pathname": f"/t/{ann.thread}"})
            assert own["composer-panel"]["data"]["read_only"] is None

    asyncio.run(story())


async def note_frames(services: Services, thread_id: str, frames: list[Frame]) -> None:
    async for frame in stream_frames(services, thread_id):
        frames.append(frame)


@pytest.mark.parametrize("path", ["remove", "role"])
def test_who_loses_the_right_to_write_loses_their_answer(serve: Any, path: str) -> None:
    async def story() -> None:
        async with serve(demo_seconds_per_token=5) as office:
            ann = await begin_long_answer(office, "ann")
            stop = {"type": "stop", "request_id": "y"}
            await post(office, "ann", "/api/actions/composer-panel", {"pathname": f"/t/{ann.thread}", "action": stop})
            await let(office, "ann", ann.thread, "add", "bob", "editor")
            assert (await send(office, "bob", ann.thread, "a question of bob", 1))["ok"]
            assert office.app.services.hub.find_live_run(ann.thread)
            await let(office, "ann", ann.thread, path, "bob")
            assert office.app.services.hub.find_live_run(ann.thread) is None
            with act_for("ann"):
                run = office.app.services.runs.get_latest_run(ann.thread)
            assert run
            assert run.state is RunState.STOPPED

    asyncio.run(story())


@pytest.mark.parametrize("path", ["remove", "role", "leave"])
def test_an_answer_that_begins_while_its_person_is_let_out_is_stopped(
    serve: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins when the route has looked for one, and before the change."""

    async def story() -> None:
        async with serve(demo_seconds_per_token=5) as office:
            store, thread = office.app.services.store, office.fill("ann").thread
            let_in(office, thread, bob=ThreadRole.EDITOR)
            with act_for("ann"):
                version = store.get_thread(thread).version
            stop_answer, begun = MemberRequests._stop_answer, list[bool]()

            async def look_too_early(people: MemberRequests, thread_id: str, person: str) -> None:
                await stop_answer(people, thread_id, person)
                if not begun:
                    begun.append((await send(office, "bob", thread, "a question of bob", version))["ok"])

            monkeypatch.setattr(MemberRequests, "_stop_answer", look_too_early)
            page = follow(office, "bob", thread)
            await wait_for_followers(office, 1)
            await let(office, "bob" if path == "leave" else "ann", thread, path, "bob")
            assert begun == [True]
            with act_for("ann"):
                run = office.app.services.runs.get_latest_run(thread)
            assert run
            assert (run.person, run.state, office.app.services.hub.find_live_run(thread)) == ("bob", RunState.STOPPED, None)
            if path == "role":
                page.cancel()
            else:
                assert (await page)[-1]["code"] == 4404

    asyncio.run(story())


def test_an_answer_of_who_is_let_out_meanwhile_releases_the_conversation(serve: Any) -> None:
    async def story() -> None:
        async with serve(demo_seconds_per_token=0.02) as office:
            store, thread = office.app.services.store, str(uuid.uuid4())
            first = {"type": "send", "request_id": thread, "text": "a heron of ann"}
            await post(office, "ann", "/api/actions/composer-panel", {"pathname": "/", "action": first})
            await office.rest()
            await let(office, "ann", thread, "add", "bob", "editor")
            assert (await send(office, "bob", thread, "a question of bob"))["ok"]
            with act_for("ann"):
                Members(store).remove_member(thread, "bob")  # past the route, which stops the answer before
            async with asyncio.timeout(60):
                await office.rest()
            with act_for("ann"):
                run = office.app.services.runs.get_latest_run(thread)
            assert run
            assert run.state in (RunState.INTERRUPTED, RunState.FAILED)

    asyncio.run(story())


@pytest.mark.slow
def test_who_is_let_out_at_one_process_follows_no_more_at_another(tmp_path: Path, postgres: Postgres) -> None:
    url = postgres.ordinary()

    async def story() -> None:
        chosen: JSON = {"auth": "proxy", "public_url": URL, "proxy_networks": "10.0.3.0/24", "proxy_secret": SECRET}
        async with serve_several(tmp_path, url, **chosen) as [here, elsewhere]:
            store, told = here.services.store, asyncio.Event()
            with act_for("ann"):
                thread = store.create_thread(title="heron").id
                Members(store).add_member(thread, "bob", ThreadRole.EDITOR)
            with act_for("bob"):
                screen = Screen()
                watching = asyncio.create_task(screen.watch(elsewhere.services, thread, told))
            await told.wait()
            with act_for("ann"):
                await here.services.runner.send(thread, "hello", caller=Caller())
                end = await asyncio.wait_for(watching, 60)
                assert end["state"] == "done"
            with act_for("bob"):
                await elsewhere.services.runner.send(thread, "hello to you", caller=Caller())
                following = asyncio.create_task(anext(skip_hello(elsewhere.services, thread)))
            await until(lambda: elsewhere.services.broadcasts._running and not elsewhere.services.hub.find_live_run(thread))
            with act_for("ann"):
                await MemberRequests(here.services).remove(thread, "bob")
            with pytest.raises(ThreadNotFoundError):
                await asyncio.wait_for(following, 60)

    asyncio.run(story())
    postgres.drop(url)


async def skip_hello(services: Services, thread_id: str) -> AsyncGenerator[Frame]:
    """Yield a frame after the end of an answer, but never one."""
    async for frame in stream_frames(services, thread_id):
        if frame["kind"] == "members":
            yield frame


def let_in(office: Office, thread: str, **roles: ThreadRole) -> None:
    with act_for("ann"):
        for person, role in roles.items():
            Members(office.app.services.store).add_member(thread, person, role)


@pytest.mark.slow
def test_every_request_of_a_reader_changes_nothing_and_of_a_stranger_tells_nothing(serve: Any) -> None:
    """The third was an editor, and was let out."""

    async def story() -> None:
        async with serve() as office:
            ann = office.fill("ann")
            let_in(office, ann.thread, carol=ThreadRole.READER, dora=ThreadRole.EDITOR)
            with act_for("ann"):
                Members(office.app.services.store).remove_member(ann.thread, "dora")
            before, callbacks = office.read_all("ann", ann.thread), await office.list_callbacks()
            for request in walk.list_requests(office.server, callbacks):
                if LEAVING in request.body:
                    continue
                code, text = await ask(office, "carol", walk.fill_in(request, ann), ann)
                assert code < 500, (request, text)
                nothing = await ask(office, "dora", walk.fill_in(request, NOTHING), NOTHING)
                assert await ask(office, "dora", walk.fill_in(request, ann), ann) == nothing, request
            assert office.read_all("ann", ann.thread) == before
            async with office.browser("carol") as browser:
                assert "heron of ann" in (await browser.post("/api/panels", json={"pathname": f"/t/{ann.thread}"})).text

    asyncio.run(story())


@pytest.mark.slow
def test_no_request_of_an_editor_touches_what_is_the_owners_alone(serve: Any) -> None:
    async def story() -> None:
        async with serve() as office:
            ann = office.fill("ann")
            let_in(office, ann.thread, bob=ThreadRole.EDITOR)
            before = read_own(office, ann)
            for request in walk.list_requests(office.server, await office.list_callbacks()):
                if LEAVING not in request.body:
                    code, text = await ask(office, "bob", walk.fill_in(request, ann), ann)
                    assert code < 500, (request, text)
            assert read_own(office, ann) == before

    asyncio.run(story())


def read_own(office: Office, things: Things) -> list[Any]:
    """All that only the owner changes: their list, tags, prompts, links and members."""
    store = office.app.services.store
    with act_for("ann"):
        thread = store.get_thread(things.thread)
        members = Members(store).list_members(things.thread)
    order = (thread.owner, thread.pinned, thread.archived, thread.tags, thread.deleted)
    with act_for(EVERYBODY):
        own = office.read_all("ann", things.thread)
    return [order, members, own[1], own[2], blur("", things)]
