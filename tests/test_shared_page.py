"""The page behind a link: a stranger sees what is shared and nothing else, until it ends."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from app import App, create_app
from application.settings import Settings
from checkpoints import NewMessage, Store, act_for
from checkpoints.interchange.redaction import Redaction
from checkpoints.people.audit_log import AuditLog
from checkpoints.people.shares import NewShare, Shares
from checkpoints.storage import schema
from checkpoints.values import files, serde
from checkpoints.values.audit_entry import AuditKind
from components import shared_pages
from server import guard
from tests import test_people
from tests.attachments import asking, png
from tests.checkpoints.conversations import new, talked
from tests.components.transfers.test_html_export import HOSTILE, expect_harmless, write_hostile
from tests.people import fill
from tests.sharing import GONE, change, make_link, read_dialog, read_refusal, read_token, row
from tests.test_people import CLIENT, SECRET, URL, Office

ORIGIN = "http://127.0.0.1:8050"
Open = Callable[..., Any]
serve = test_people.serve  # the fixture


def browse(app: App, base: str = ORIGIN, client: tuple[str, int] = ("127.0.0.1", 1), **headers: str) -> httpx.AsyncClient:
    """A browser that nobody has signed in."""
    transport = httpx.ASGITransport(app.asgi, client=client)
    return httpx.AsyncClient(transport=transport, base_url=base, headers={"origin": base, **headers})


@pytest.fixture
def start(tmp_path: Path) -> Open:
    @asynccontextmanager
    async def open_app(**settings: Any) -> AsyncIterator[App]:
        app = create_app(Settings(model="demo", titles="off", data_dir=tmp_path / "data", **settings), port=8050)
        try:
            yield app
        finally:
            await app.close()

    return open_app


def run(story: Callable[[], Any]) -> None:
    asyncio.run(story())


def share(store: Store, token: str, thread_id: str, checkpoint_id: str | None = None, **more: Any) -> str:
    return Shares(store).make_link(token, NewShare(thread_id, checkpoint_id, **more)).id


def tell_story(store: Store) -> tuple[str, str]:
    """A conversation with a checkpoint in its middle, and a branch beside it."""
    thread_id = talked(store, "the first question", "the first answer")
    call = {"name": "look", "args": {"at": "birds"}, "id": "1", "type": "tool_call"}
    messages = [HumanMessage("second"), AIMessage("", tool_calls=[call]), ToolMessage("three herons", tool_call_id="1")]
    store.append(thread_id, [NewMessage(serde.to_body(each)) for each in messages])
    store.append(thread_id, [asking("picture", files.parse_file("bird.png", png()))])
    saved = store.save(thread_id, name="At the birds", description="on the shore").result
    store.append(thread_id, new("what came later"))
    store.save(thread_id, name="Later place")
    main = store.get_thread(thread_id).branch_id
    store.fork(thread_id, None, name="Side branch")
    store.append(thread_id, [asking("elsewhere", files.parse_file("other.png", png(colour=(9, 9, 9))))])
    store.switch(thread_id, main)
    store.rename_thread(thread_id, "Title of all")
    return thread_id, saved


def test_a_stranger_sees_the_path_to_a_checkpoint_and_nothing_else(start: Open) -> None:
    async def story() -> None:
        async with start() as app, browse(app) as stranger:
            store = app.services.store
            thread_id, saved = tell_story(store)
            share(store, "link", thread_id, saved)
            reply = await stranger.get("/shared?token=link")
            assert reply.status_code == 200
            for text in ("At the birds", "on the shore", "the first answer", "three herons", "bird.png", "data:image/png"):
                assert text in reply.text, text
            rows = [store.get_thread(thread_id), *store.list_all_messages(thread_id), *store.list_all_checkpoints(thread_id)]
            ids = {each.id for each in [*rows, *(branch for branch, _ in store.list_branches(thread_id))]}
            for text in ("Later", "later", "Side branch", "other.png", "Title of all", "after the first answer", *ids):
                assert text not in reply.text, text
            expect_harmless(reply.text)

    run(story)


def test_a_conversation_is_shown_as_it_is_now(start: Open) -> None:
    async def story() -> None:
        async with start() as app, browse(app) as stranger:
            store = app.services.store
            thread_id, _ = tell_story(store)
            share(store, "link", thread_id)
            first = (await stranger.get("/shared?token=link")).text
            assert "Title of all" in first
            assert "Later place" in first
            assert "Side branch" not in first
            store.append(thread_id, new("the newest word"))
            assert "the newest word" in (await stranger.get("/shared?token=link")).text
            store.clear(thread_id)
            assert "newest" not in (await stranger.get("/shared?token=link")).text

    run(story)


def test_what_is_redacted_is_not_there(start: Open) -> None:
    async def story() -> None:
        async with start() as app, browse(app) as stranger:
            store = app.services.store
            thread_id, saved = tell_story(store)
            share(store, "link", thread_id, saved, redaction=Redaction(True, ("birds", "first"), True))
            page = (await stranger.get("/shared?token=link")).text
            for text in ("three herons", "birds", "first", "data:image"):
                assert text not in page.partition("<body>")[2], text
            assert "Parts of it may be left out." in page

    run(story)


def test_a_wrong_an_ended_and_a_revoked_link_are_one_and_the_same_404(start: Open) -> None:
    async def story() -> None:
        async with start() as app, browse(app) as stranger:
            store = app.services.store
            thread_id, saved = tell_story(store)
            for token in ("ended", "deleted", "revoked"):
                last = share(store, token, thread_id, saved if token == "deleted" else None)
                assert (await stranger.get(f"/shared?token={token}")).status_code == 200
            Shares(store).revoke_link(thread_id, last)
            store.delete_checkpoint(thread_id, saved)
            with store.database.begin_write() as connection:
                ending = sa.update(schema.share).where(schema.share.c.expires_at > 0, schema.share.c.checkpoint_id.is_(None))
                assert connection.execute(ending.values(expires_at=1)).rowcount == 1
            replies = [await stranger.get(f"/shared?token={each}") for each in ("wrong", "ended", "revoked", "deleted", "")]
            replies.append(await stranger.get("/shared"))
            assert {(each.status_code, each.text, str(sorted(each.headers.items()))) for each in replies} == {
                (404, replies[0].text, str(sorted(replies[0].headers.items())))
            }

    run(story)


def test_the_headers_let_nothing_run_load_remember_or_find_it(start: Open) -> None:
    async def story() -> None:
        async with start() as app, browse(app) as stranger:
            share(app.services.store, "link", talked(app.services.store, "a"))
            for token in ("link", "wrong"):
                headers = (await stranger.get(f"/shared?token={token}")).headers
                assert headers["referrer-policy"] == "no-referrer"
                assert headers["cache-control"] == "no-store"
                assert "noindex" in headers["x-robots-tag"]
                assert "sandbox" in headers["content-security-policy"]
                assert "script" not in headers["content-security-policy"]
                assert "set-cookie" not in headers

    run(story)


@pytest.mark.slow
def test_120_hostile_texts_run_and_load_nothing(start: Open) -> None:
    async def story() -> None:
        async with start() as app, browse(app) as stranger:
            assert len(HOSTILE) >= 120
            store = app.services.store
            thread_id = write_hostile(store, HOSTILE)
            last = store.list_checkpoints(thread_id)[-1]
            share(store, "whole", thread_id)
            share(store, "one", thread_id, last.id, redaction=Redaction(files=True))
            for token in ("whole", "one"):
                reply = await stranger.get(f"/shared?token={token}")
                assert reply.status_code == 200
                assert reply.text.count("<article") > len(HOSTILE)
                expect_harmless(reply.text)

    run(story)


def test_a_page_is_made_once_for_many_and_again_after_a_change(start: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    make = shared_pages.SharedPages._find_or_make

    async def count(self: Any, key: str, write: Any) -> bytes:
        def write_and_count(redact: Any) -> str:
            made.append(key)
            return str(write(redact))

        return await make(self, key, write_and_count)

    monkeypatch.setattr(shared_pages.SharedPages, "_find_or_make", count)

    async def story() -> None:
        async with start() as app, browse(app) as stranger:
            store = app.services.store
            thread_id, saved = tell_story(store)
            share(store, "whole", thread_id)
            share(store, "one", thread_id, saved)
            await asyncio.gather(*(stranger.get(f"/shared?token={token}") for token in ("whole", "one") * 5))
            assert len(made) == 2
            store.append(thread_id, new("more"))
            await asyncio.gather(*(stranger.get(f"/shared?token={token}") for token in ("whole", "one") * 5))
            assert len(made) == 3  # the checkpoint is as it was
            monkeypatch.setattr(shared_pages, "MAX_KEPT_BYTES", 0)
            for _ in range(2):
                assert (await stranger.get("/shared?token=one")).status_code == 200
            assert app.services.shared_pages._kept == {}

    run(story)


def test_an_address_opens_so_many_pages_and_no_more(start: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with start() as app, browse(app) as stranger, browse(app, client=("10.0.0.9", 1)) as other:
            asked = guard.MAX_STRANGER_BURST + 20
            codes = [(await stranger.get("/shared?token=wrong")).status_code for _ in range(asked)]
            assert codes[: guard.MAX_STRANGER_BURST] == [404] * guard.MAX_STRANGER_BURST
            assert 429 in codes
            assert (await other.get("/shared?token=wrong")).status_code == 404

    run(story)


def test_a_token_stands_in_no_line_of_the_log(
    start: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("httpx"), "disabled", True)  # the stranger's own

    async def story() -> None:
        async with start() as app, browse(app) as stranger, browse(app, "http://elsewhere:1") as other:
            share(app.services.store, "secret-link", talked(app.services.store, "a"))
            for browser in (stranger, other):
                await browser.get("/shared?token=secret-link")
            for method in ("PUT", "POST"):
                await stranger.request(method, "/shared?token=secret-link")
            app.services.store.database.close()
            await stranger.get("/shared?token=secret-link")

    caplog.set_level("INFO")
    run(story)
    assert "refused from" in caplog.text
    assert "secret-link" not in caplog.text


def list_kinds(office: Office) -> Sequence[AuditKind]:
    return [each.kind for each in AuditLog(office.app.services.store).list_entries(50)]


def test_behind_a_proxy_a_link_is_open_and_names_nobody_unless_wanted(serve: Any) -> None:
    async def story() -> None:
        async with serve() as office:
            store = office.app.services.store
            ann = office.fill("ann")
            with act_for("ann"):
                share(store, "quiet", ann.thread)
                share(store, "named", ann.thread, ann.checkpoint, shows_name=True)
            async with browse(office.app, URL, ("192.0.2.7", 1)) as stranger:
                quiet, named = [(await stranger.get(f"/shared?token={each}")).text for each in ("quiet", "named")]
                assert (await stranger.get(f"/t/{ann.thread}")).status_code == 403
            ids = {each for each in astuple(ann) if each not in quiet}
            assert set(astuple(ann)) - ids <= {"0123456789abcdef0123"}
            assert "Shared by ann" in named
            assert "Shared by" not in quiet

    run(story)


@pytest.mark.parametrize(
    ("prefix", "language", "words"), [("/", "en", "Open your own Waymark"), ("/waymark/", "de", "Eigenes Waymark öffnen")]
)
def test_a_stranger_finds_the_way_to_a_waymark_of_their_own(start: Open, prefix: str, language: str, words: str) -> None:
    async def story() -> None:
        async with start(url_prefix=prefix) as app, browse(app, **{"accept-language": language}) as stranger:
            share(app.services.store, "link", talked(app.services.store, "a"))
            for token in ("link", "wrong"):
                page = (await stranger.get(f"{prefix}shared?token={token}")).text
                assert re.findall(r"<a class='home' href='([^']*)'>([^<]*)</a>", page) == [(prefix, words)]

    run(story)


def test_links_are_made_listed_and_revoked_by_their_owner_alone(serve: Any) -> None:
    async def story() -> None:
        async with serve() as office:
            ann, shares = office.fill("ann"), Shares(office.app.services.store)
            wanted: Any = {"share_results": True, "share_words": "sk-*\n", "share_shows_name": True}
            async with office.browser("ann") as browser, office.browser("bob") as bob:
                made = await make_link(browser, ann.thread, days=3, checkpoint=ann.checkpoint, **wanted)
                with act_for("ann"):
                    [(link, name)] = [each for each in shares.list_links(ann.thread) if each[0].id != ann.share]
                assert (link.checkpoint_id, name, link.redaction) == (
                    ann.checkpoint,
                    "heron of ann",
                    Redaction(True, ("sk-*",)),
                )
                assert re.fullmatch(r"[\w-]{43}", token := read_token(made))
                listed = (await read_dialog(browser, ann.thread)).text
                assert token not in listed
                assert "sk-" not in listed
                assert (await bob.get(f"/shared?token={token}")).status_code == 200
                assert "heron of ann" not in (await read_dialog(bob, ann.thread)).text
                revoke = row("share-revoke", link.id)
                assert read_refusal(await change(bob, ann.thread, revoke)) == GONE
                assert "A pattern with * is one word" in str(
                    read_refusal(await make_link(browser, ann.thread, share_words="* *"))
                )
                assert "1 to 365 days" in str(read_refusal(await make_link(browser, ann.thread, days=0)))
                assert '"opened 1 time"' in (await read_dialog(browser, ann.thread)).text
                assert read_refusal(await change(browser, ann.thread, revoke)) is None
                assert (await bob.get(f"/shared?token={token}")).status_code == 404
            kinds = list_kinds(office)
            assert kinds[:3] == [AuditKind.SHARE_REVOKED, AuditKind.SHARE_OPENED, AuditKind.SHARE]
            [revoked, opened, shared] = AuditLog(office.app.services.store).list_entries(3)
            assert (revoked.person, opened.person, opened.about, shared.person) == ("ann", "", "ann", "ann")
            assert {revoked.address, opened.address, shared.address} == {CLIENT[0]}
            assert SECRET not in str([revoked, opened, shared])

    run(story)


def test_a_press_repeated_after_a_lost_answer_makes_one_link(serve: Any) -> None:
    async def story() -> None:
        async with serve() as office:
            ann, shares = office.fill("ann"), Shares(office.app.services.store)
            async with office.browser("ann") as browser:
                read = (await read_dialog(browser, ann.thread)).json()
                token = read["sideUpdate"]["share-next"]["data"]
                made = [await make_link(browser, ann.thread, token=token, days=days) for days in (1, 3)]
                assert [read_token(each) for each in made] == [token, token]
                with act_for("ann"):
                    [days] = [
                        (each.expires_at - each.created_at).days
                        for each, _ in shares.list_links(ann.thread)
                        if each.id != ann.share
                    ]
                assert days == 3  # as the form said last
                following = made[-1]["response"]["share-next"]["data"]
                assert read_token(await make_link(browser, ann.thread, token=following)) == following != token
                with act_for("ann"):
                    assert len(shares.list_links(ann.thread)) == 3
            assert list_kinds(office)[:4] == [
                AuditKind.SHARE,
                AuditKind.SHARE,
                AuditKind.SHARE_REVOKED,
                AuditKind.SHARE,
            ]

    run(story)


def test_fill_makes_a_link(memory_store: Store) -> None:
    """The walk of every route asks for another person's link: there has to be one."""
    memory_store.database.separate_owners()
    ann = fill(memory_store, "ann")
    with act_for("ann"):
        assert [each.id for each, _ in Shares(memory_store).list_links(ann.thread)] == [ann.share]
