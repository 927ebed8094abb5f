"""Several people behind one server: each has their own, and nobody is told of anything else, not even that it exists."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app import App, create_app
from application.composition import page_server
from application.settings import Settings
from checkpoints import EVERYBODY, Runs, RunState, act_for
from checkpoints.default_instructions import DefaultInstructions
from checkpoints.people.members import Members
from checkpoints.saved_prompts import SavedPrompts
from checkpoints.storage import schema
from checkpoints.tags import Tags
from checkpoints.values.model import ThreadRole
from components.streams import thread_frames
from server import request_rate
from tests import walk
from tests.checkpoints import tables
from tests.fakes.openai import FakeOpenAI, Say
from tests.people import NOTHING, Things, fill
from tests.running_app import post_callback, request_panels, write_id

URL = "https://waymark.example"
SECRET = "a-secret-of-more-than-thirty-two-characters"
CLIENT = ("10.0.3.7", 5000)
JSON = dict[str, Any]
GRAPH = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

def answer(state):
    return {"messages": [AIMessage("Hello to you")]}

graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile()
"""


@dataclass
class Office:
    """An app behind a proxy, and its server with all routes."""

    app: App
    server: FastAPI

    def browser(self, person: str | None, client: tuple[str, int] = CLIENT, **headers: str) -> httpx.AsyncClient:
        """A browser whose requests the proxy passes on; without a person, as nobody."""
        named = {"x-forwarded-user": person} if person else {}
        given = {"x-waymark-proxy-secret": SECRET, "origin": URL, **named, **headers}
        transport = httpx.ASGITransport(self.app.asgi, client=client)
        return httpx.AsyncClient(transport=transport, base_url=URL, headers=given)

    def used_browser(self, person: str, **headers: str) -> httpx.AsyncClient:
        """The browser of somebody, for many requests."""
        return self.browser(person, **headers)

    async def list_callbacks(self) -> list[JSON]:
        async with self.browser("ann") as browser:
            found: list[JSON] = (await browser.get("/_dash-dependencies")).json()
            return found

    def fill(self, person: str) -> Things:
        store = self.app.services.store
        things = fill(store, person)
        with act_for(EVERYBODY):
            run = Runs(store).get_run(things.run)
            assert run
            Runs(store).end_run(run, RunState.DONE)
        return things

    def read_all(self, person: str, thread_id: str) -> list[Any]:
        """All that somebody has."""
        store = self.app.services.store
        with act_for(person):
            own = [store.list_threads(), Tags(store).count_tags(), SavedPrompts(store).list_prompts()]
            own.append(DefaultInstructions(store).read())
        with act_for(EVERYBODY):
            rows = tables.read(store, thread_id)
        return [*own, *(rows[name] for name in rows if name == "thread" or "thread_id" in schema.metadata.tables[name].c)]

    async def rest(self) -> None:
        """Wait until nobody is answered any more."""
        with act_for(EVERYBODY):
            while self.app.services.runs.list_running_threads():  # noqa: ASYNC110  (runs end with no event)
                await asyncio.sleep(0.01)


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    made: list[FastAPI] = []

    def make_server(**options: Any) -> FastAPI:
        made.append(FastAPI(**options))
        return made[-1]

    monkeypatch.setattr(page_server, "FastAPI", make_server)
    monkeypatch.setattr(request_rate, "MAX_BURST_REQUESTS", 10**9)

    @asynccontextmanager
    async def open_office(**settings: Any) -> AsyncIterator[Office]:
        given: JSON = {"model": "demo", "demo_seconds_per_token": 0, "titles": "off", "auth": "proxy", "public_url": URL}
        given |= {"proxy_networks": "10.0.3.0/24", "proxy_secret": SECRET, "data_dir": tmp_path / "data"}
        app = create_app(Settings(**given | settings), port=8050, env_file=tmp_path / ".env")
        try:
            yield Office(app, made[-1])
        finally:
            await app.close()

    return open_office


def blur(text: str, things: Things, *others: str) -> str:
    """An answer without ids and times."""
    for each in sorted({*astuple(things), *others}, key=len, reverse=True):
        text = text.replace(each, "ID")
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
    text = re.sub(r"expires=[^;]+", "TIME", text)
    text = re.sub(r"receipt\W+\w+", "RANDOM", text)
    text = re.sub(r'"end_id":"[^"]+"|\{"id":"[\w-]{22}"\}', "RANDOM", text)
    return re.sub(r'\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)?|"(tick|data)": ?[\d.]+', "TIME", text)


async def ask(office: Office, person: str, request: walk.Request, things: Things) -> tuple[int, str]:
    async with office.used_browser(person, referer=f"{URL}/t/{things.thread}") as browser:
        reply = await walk.send(browser, request)
    await office.rest()
    headers = sorted(each for each in reply.headers.items() if each[0] != "content-length")
    return reply.status_code, blur(reply.text + str(headers), things)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> JSON:
    """The settings of a database; on PostgreSQL with a role that row-level security binds."""
    return {} if request.param == "sqlite" else {"database_url": request.getfixturevalue("ordinary_url")}


@pytest.mark.slow
def test_every_request_with_anothers_ids_is_answered_as_if_they_never_were(serve: Any, database: JSON) -> None:
    async def story() -> None:
        async with serve(**database) as office:
            ann, bob = office.fill("ann"), office.fill("bob")
            async with office.browser("ann") as browser:
                reply = await browser.post("/api/uploads/file", content=b"the heron of ann")
            ann = replace(ann, upload=reply.json()["id"])
            before, callbacks = office.read_all("ann", ann.thread), await office.list_callbacks()
            requests = list(walk.list_requests(office.server, callbacks))
            understood = set()
            for request in requests:
                nothing = await ask(office, "bob", walk.fill_in(request, NOTHING), NOTHING)
                theirs = await ask(office, "bob", walk.fill_in(request, ann), ann)
                mixed = await ask(office, "bob", walk.fill_in(request, ann, bob.thread), ann)
                assert theirs == nothing, request
                assert "of ann" not in theirs[1] + mixed[1], request
                assert max(nothing[0], mixed[0]) < 500, request
                is_malformed = any(status == 400 and " " not in text.split("[(")[0] for status, text in (nothing, mixed))
                understood |= set() if is_malformed else {(request.method, request.path)}
            assert office.read_all("ann", ann.thread) == before
            assert {(each.method, each.path) for each in requests} - understood == set()
            for request in requests:
                if request.method == "GET" and "<thread>" in request.path and not request.query.endswith("="):
                    own, others = [await ask(office, person, walk.fill_in(request, ann), ann) for person in ("ann", "bob")]
                    assert own != others, request

    asyncio.run(story())


def test_a_socket_with_anothers_id_is_closed_like_one_of_no_conversation(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_frames, "MAX_EXPECTED_SECONDS", 0.1)

    async def story() -> None:
        async with serve(demo_seconds_per_token=5) as office:
            ann = await begin_long_answer(office, "ann")
            headers = {"host": "waymark.example", "origin": URL, "x-waymark-proxy-secret": SECRET}
            for request in walk.list_sockets(office.server):
                is_of_thread, told = "sessions" not in request.path, {}
                for name, person, things in (("theirs", "bob", ann), ("nothing", "bob", NOTHING), ("own", "ann", ann)):
                    until = "accept" if not is_of_thread else "send" if name == "own" else "close"
                    wanted, named = walk.fill_in(request, things), {**headers, "x-forwarded-user": person}
                    sent = await walk.follow(office.app.asgi, wanted, named, CLIENT, f"websocket.{until}")
                    told[name] = re.sub(r'"receipt": "\w+"', "", blur(str(sent), things))
                assert told["theirs"] == told["nothing"], request
                assert is_of_thread == ('"run": {"id": "ID"' in told["own"] or '"run": "ID"' in told["own"]), request
            for person in (None, "local", "the command line"):
                named = {"x-forwarded-user": person} if person else {}
                sent = await walk.follow(office.app.asgi, wanted, headers | named, CLIENT)
                assert [each["type"] for each in sent] == ["websocket.close"]

    asyncio.run(story())


async def begin_long_answer(office: Office, person: str) -> Things:
    """Let somebody ask, and return the ids while the answer is being written."""
    request_id = "a0a0a0a0-0000-4000-8000-a0a0a0a0a0a0"
    action = {"type": "send", "request_id": request_id, "text": f"the heron of {person}"}
    async with office.browser(person) as browser:
        reply = await browser.post("/api/actions/composer-panel", json={"pathname": "/", "action": action})
        assert reply.json()["composer-panel"]["reply"]["ok"], reply.text
    assert office.app.services.hub.find_live_run(request_id)
    return replace(NOTHING, thread=request_id, run=request_id)


def test_a_page_of_another_person_does_nothing(serve: Any) -> None:
    async def story() -> None:
        async with serve() as office:
            name = "Anna May"
            async with office.browser(name) as browser:
                own = (await browser.get("/_dash-layout")).json()["props"]["data-person"]
                assert own == "Anna%20May"
                assert (await browser.get("/api/runs", headers={"waymark-person": own})).status_code == 200
            async with office.browser("bob") as browser:
                action = {"type": "send", "request_id": str(uuid.uuid4()), "text": "a secret"}
                sent = {"pathname": "/", "action": action}
                reply = await browser.post("/api/actions/composer-panel", json=sent, headers={"waymark-person": own})
                assert (reply.status_code, reply.headers["waymark-person"]) == (409, "bob")
                assert (await browser.get("/healthz", headers={"waymark-person": own})).status_code == 200
            with act_for("bob"):
                assert not office.app.services.store.list_threads()

    asyncio.run(story())


def test_nobody_stops_or_sees_anothers_answer(serve: Any) -> None:
    async def story() -> None:
        async with serve(demo_seconds_per_token=5) as office:
            ann = await begin_long_answer(office, "ann")
            async with office.browser("bob") as bob, office.browser("ann") as browser:
                for kind in ("stop", "stop-candidate"):
                    action = {"type": kind, "request_id": "x", "run": ann.run, "number": 1}
                    name = "composer-panel" if kind == "stop" else "transcript"
                    await bob.post(f"/api/actions/{name}", json={"pathname": f"/t/{ann.thread}", "action": action})
                assert (await bob.get("/api/runs")).json() == {"running": []}
                assert office.app.services.hub.find_live_run(ann.thread)
                assert (await browser.get("/api/runs")).json() == {"running": [ann.thread]}
                action = {"type": "stop", "request_id": "y"}
                await browser.post("/api/actions/composer-panel", json={"pathname": f"/t/{ann.thread}", "action": action})
                assert office.app.services.hub.find_live_run(ann.thread) is None

    asyncio.run(story())


def test_each_person_is_answered_and_what_follows_a_run_is_theirs(serve: Any) -> None:
    async def story() -> None:
        async with serve(titles="on", judge="on") as office:
            store = office.app.services.store
            for person in ("ann", "bob"):
                async with office.browser(person) as browser:
                    action = {"type": "send", "request_id": str(uuid.uuid4()), "text": f"Good morning, {person}"}
                    await browser.post("/api/actions/composer-panel", json={"pathname": "/", "action": action})
            await office.rest()
            for person in ("ann", "bob"):
                with act_for(person):
                    [thread] = store.list_threads()
                    question, answer = store.list_messages(thread.id)
                    latest = office.app.services.runs.get_latest_run(thread.id)
                assert (thread.owner, question.body["data"]["content"]) == (person, f"Good morning, {person}")
                assert (answer.type, latest and latest.state) == ("ai", RunState.DONE)

    asyncio.run(story())


def test_a_graph_of_ones_own_writes_for_the_person_who_asks(serve: Any, tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(GRAPH)

    async def story() -> None:
        async with serve(graph=f"{tmp_path / 'echo.py'}:graph") as office:
            thread_id = str(uuid.uuid4())
            async with office.browser("ann") as browser:
                action = {"type": "send", "request_id": thread_id, "text": "Hello", "inputs": "{}"}
                await browser.post("/api/actions/composer-panel", json={"pathname": "/", "action": action})
                await office.rest()
            with act_for("ann"):
                texts = [each.body["data"]["content"] for each in office.app.services.store.list_messages(thread_id)]
            assert texts == ["Hello", "Hello to you"]

    asyncio.run(story())


def test_the_page_names_the_person_and_the_way_out(serve: Any) -> None:
    async def story() -> None:
        async with serve(sign_out_url="/oauth2/sign_out") as office, office.browser("ann") as browser:
            panels = (await request_panels(browser)).json()
            assert panels["person-name"]["children"] == "Signed in as ann"
            assert panels["sign-out"]["href"] == "/oauth2/sign_out"
            assert "Signed in as" not in (await browser.get("/")).text  # the frame is of nobody

    asyncio.run(story())


def test_default_instructions_are_sent_in_the_own_conversations_of_who_asks_and_nowhere_else(serve: Any) -> None:
    async def story(fake: FakeOpenAI) -> None:
        given = {"model": "openai:some", "openai_base_url": fake.base_url, "openai_api_key": "sk-not-a-key"}
        async with serve(**given) as office:
            store, thread_id = office.app.services.store, str(uuid.uuid4())
            for person in ("ann", "bob"):
                with act_for(person):
                    DefaultInstructions(store).save_text(f"Address me as {person}.")

            async def ask(person: str, request_id: str, pathname: str) -> str:
                fake.reply(Say("Hello."))
                async with office.browser(person) as browser:
                    action = {"type": "send", "request_id": request_id, "text": "Hello"}
                    await browser.post("/api/actions/composer-panel", json={"pathname": pathname, "action": action})
                    await office.rest()
                return str(fake.requests[-1]["messages"][0]["content"])

            assert (await ask("ann", thread_id, "/")).endswith("Address me as ann.")
            with act_for("ann"):
                Members(store).add_member(thread_id, "bob", ThreadRole.EDITOR)
            assert "Address me" not in await ask("bob", str(uuid.uuid4()), f"/t/{thread_id}")
            assert (await ask("bob", str(uuid.uuid4()), "/")).endswith("Address me as bob.")

    with FakeOpenAI() as fake:
        asyncio.run(story(fake))


def test_nobody_connects_a_model_for_all(serve: Any) -> None:
    async def story() -> None:
        async with serve() as office, office.browser("ann") as browser:
            for trigger, output in (
                ("connect-form.n_submit", "head.data"),
                ("connect-dialog-opened.data", "connect-fields"),
            ):
                values = {trigger: 1, "connect-dialog-provider.value": "openai", "url.pathname": "/"}
                assert (await post_callback(browser, trigger, values, output=output)).status_code == 400

    asyncio.run(story())


def test_who_is_not_named_by_the_proxy_gets_nothing_at_all(serve: Any) -> None:
    async def story() -> None:
        async with serve() as office:
            ann, callbacks = office.fill("ann"), await office.list_callbacks()
            strangers = [
                office.browser(None),
                office.browser("ann", ("10.0.4.7", 1)),
                office.browser("ann", **{"x-waymark-proxy-secret": "another"}),
                office.browser("ann", x_forwarded_user="ann"),
            ]
            for stranger in strangers:
                async with stranger as browser:
                    for request in walk.list_requests(office.server, callbacks):
                        if request.path not in page_server.ALLOWED_ROUTES.public_paths:
                            reply = await walk.send(browser, walk.fill_in(request, ann))
                            assert reply.status_code in (401, 403), request

    asyncio.run(story())


def test_groups_of_the_proxy_make_admins_and_readers(serve: Any) -> None:
    async def story() -> None:
        async with serve(proxy_admin_groups="bosses", proxy_reader_groups="user_graphs") as office:
            things = office.fill("cleo")

            async def get(path: str, groups: str) -> httpx.Response:
                async with office.browser("ann", **{"x-forwarded-groups": groups}) as browser:
                    return await browser.get(path)

            for groups, status in (("bosses", 200), ("staff", 400), ("user_graphs", 400)):
                async with office.browser("ann", **{"x-forwarded-groups": groups}) as browser:
                    audit = await post_callback(
                        browser,
                        "audit-dialog-opened.data",
                        {"url.pathname": "/"},
                        output="audit-dialog-body.children",
                    )
                    assert audit.status_code == status
            for groups, is_admin in (("bosses", True), ("staff", False)):
                async with office.browser("ann", **{"x-forwarded-groups": groups}) as browser:
                    opening, drawn = "usage-dialog-opened.data", "..usage-dialog-body.children...usage-plot.children.."
                    chosen = {"usage-by.value": "model", "usage-measure.value": "tokens", "usage-period.value": "30"}
                    usage = await post_callback(browser, opening, {"url.pathname": "/", **chosen}, output=drawn)
                    assert ("person-usage" in usage.text, "cleo" in usage.text) == (is_admin, is_admin)
                    # An empty plot is not shown.
                    assert usage.json()["sideUpdate"]["usage-plotted"] == {"hidden": True}
            assert things.thread not in (await get("/api/threads", "bosses")).text  # an admin reads no other's conversations
            for groups, can_rename in (("user_graphs", False), ("staff", True)):
                async with office.browser("cleo", **{"x-forwarded-groups": groups}) as browser:
                    field = write_id({"type": "tag-name", "row": f"{things.tag}:heron of cleo"})
                    renaming = await post_callback(browser, f"{field}.value", {f"{field}.value": "new"})
                    assert ("is now “new”" in renaming.text) is can_rename, renaming.text

    asyncio.run(story())
