"""People who sign in with a password: how they come in, what keeps others out, and what each of them may do."""

import asyncio
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher
from fastapi import FastAPI

from app import App, create_app
from application.composition import page_server
from application.settings import Settings
from checkpoints import Database, RunState, Store, StoreUnavailableError, act_for
from checkpoints.people.members import Members
from checkpoints.rows.account_rows import InvalidAccountError, Role
from checkpoints.values.model import ThreadRole
from checkpoints.values.progress import Progress
from checkpoints.values.sentence import sentence
from components.transfers.long_requests import LongRequest
from extensions.people import passwords, sign_in_limits
from extensions.people.accounts import Accounts
from extensions.people.admin import PeopleAdmin
from extensions.people.password_sign_in import PasswordSignIn
from extensions.people.person_sessions import LIMITS
from extensions.people.sign_in_counters import SignInCounters
from extensions.people.sign_in_limits import SignInLimits
from extensions.people.stored_sessions import AccountChangedError, StoredSession, StoredSessions
from server import request_rate
from server.session.sessions import NewSession
from tests import people_dialog, walk
from tests.conftest import Clock
from tests.page_key import read_page_key
from tests.people import NOTHING
from tests.rounds import Rounds
from tests.running_app import post_callback, request_panels
from tests.server.session.test_session_routes import end_others, end_session, read_sessions
from tests.test_people import Office, ask, begin_long_answer

URL = "https://waymark.example"
GOOD = "four plain words in a row"
CHEAP = partial(PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)


class CountingHasher(PasswordHasher):
    """Counts the hashes that it makes and checks."""

    calls = 0

    def verify(self, *values: Any) -> bool:  # type: ignore[override]
        type(self).calls += 1
        return super().verify(*values)


@dataclass
class Team(Office):
    """An app whose people have passwords."""

    app: App
    server: FastAPI
    used: dict[str, NewSession] = field(default_factory=dict)  # by person

    @property
    def authentication(self) -> PasswordSignIn:
        assert isinstance(self.app.sign_in, PasswordSignIn)
        return self.app.sign_in

    @property
    def accounts(self) -> Accounts:
        return self.authentication.accounts

    async def list_requests(self) -> Iterator[walk.Request]:
        async with self.browser("ann") as browser:
            return walk.list_requests(self.server, (await browser.get("/_dash-dependencies")).json())

    def add(self, name: str, role: Role = Role.MEMBER, password: str = GOOD) -> None:
        token = f"link for {name}"
        self.accounts.invite(token, role, made_by="", days=1)
        self.accounts.accept_invitation(token, name, CHEAP().hash(password))

    def stranger(self, client: tuple[str, int] = ("10.0.3.7", 1), **headers: str) -> httpx.AsyncClient:
        """A browser that nobody has used."""
        transport = httpx.ASGITransport(self.app.asgi, client=client)
        return httpx.AsyncClient(transport=transport, base_url=URL, headers={"origin": URL, **headers})

    def begin_session(self, person: str, role: str) -> NewSession:
        """Sign a browser in, as another process might."""
        created = NewSession.create("", time.time(), person, role)
        StoredSessions(self.app.services.store, LIMITS).begin(StoredSession(**asdict(created.session)))
        return created

    def browser(self, person: str | None, client: tuple[str, int] = ("10.0.3.7", 1), **headers: str) -> httpx.AsyncClient:
        """A browser in which somebody is signed in."""
        account = self.accounts.find_account(person or "")
        if account is None:
            return self.stranger(client, **headers)
        created = self.begin_session(account.name, account.role)
        return self.stranger(client, **_list_headers(created), **headers)

    def used_browser(self, person: str, **headers: str) -> httpx.AsyncClient:
        used = self.used.get(person)
        if used is None or not StoredSessions(self.app.services.store, LIMITS).find([used.session.cookie_hash]):
            account = self.accounts.find_account(person)
            assert account
            used = self.used[person] = self.begin_session(person, account.role)
        return self.stranger(**_list_headers(used), **headers)


def _list_headers(created: NewSession) -> dict[str, str]:
    return {"cookie": f"waymark_443={created.cookie}", "x-waymark-page-key": created.page_key}


@pytest.fixture
def hire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    made: list[FastAPI] = []

    def make_server(**options: Any) -> FastAPI:
        made.append(FastAPI(**options))
        return made[-1]

    monkeypatch.setattr(page_server, "FastAPI", make_server)
    monkeypatch.setattr(request_rate, "MAX_BURST_REQUESTS", 10**9)
    monkeypatch.setattr(CountingHasher, "calls", 0)
    monkeypatch.setattr(passwords, "PasswordHasher", partial(CountingHasher, time_cost=1, memory_cost=8, parallelism=1))

    @asynccontextmanager
    async def open_team(**settings: Any) -> AsyncIterator[Team]:
        given: dict[str, Any] = {"model": "demo", "titles": "off", "auth": "password", "public_url": URL}
        given |= {"demo_seconds_per_token": 0, "data_dir": tmp_path / "data"} | settings
        app = create_app(Settings(**given), port=8050)
        try:
            yield Team(app, made[-1])
        finally:
            await app.close()

    return open_team


async def sign_in(browser: httpx.AsyncClient, name: str, password: str = GOOD, **fields: str) -> httpx.Response:
    reply = await browser.post("/sign-in", data={"name": name, "password": password, **fields})
    browser.headers["x-waymark-page-key"] = read_page_key(reply.text) or ""
    return reply


async def is_in(browser: httpx.AsyncClient) -> bool:
    return (await browser.get("/api/threads")).status_code == 200


def test_the_first_admin_comes_by_the_printed_link_and_invites_the_others(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            former, link = team.app.create_link(), team.app.create_link()
            async with team.stranger() as ann, team.stranger() as bob:
                assert (await ann.get(former)).status_code == 410
                assert "Welcome to Waymark" in (await ann.get(link)).text
                token = link.partition("token=")[2]
                reply = await ann.post("/join", data={"token": token, "name": "Ann", "password": GOOD})
                ann.headers["x-waymark-page-key"] = read_page_key(reply.text) or ""
                assert await is_in(ann)
                assert team.app.create_link() == f"{URL}/"
                made = await people_dialog.make_link(ann, "reader", 7)
                fields = {"token": made.partition("token=")[2], "name": "bob", "password": GOOD}
                assert (await bob.post("/join", data=fields)).status_code == 200
                listed = await people_dialog.read_people(ann)
                assert people_dialog.list_roles(listed) == [("admin", "Ann"), ("reader", "bob")]
                assert "person-link" not in listed.text

    asyncio.run(story())


def test_a_link_that_ended_makes_nobody(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            made = {
                how: team.accounts.invite(how, Role.MEMBER, made_by="ann", days=1) for how in ("used", "revoked", "late")
            }
            team.accounts.accept_invitation("used", "bob", "x")
            team.accounts.revoke_invitation(made["revoked"].id)
            team.accounts._store.now = lambda: made["late"].expires_at
            async with team.stranger() as thief:
                for token in (*made, "guessed"):
                    assert (await thief.get(f"/join?token={token}")).status_code == 410
                    reply = await thief.post("/join", data={"token": token, "name": "eve", "password": GOOD})
                    assert (reply.status_code, reply.headers.get("set-cookie")) == (410, None)
            assert team.accounts.find_account("eve") is None

    asyncio.run(story())


def test_a_form_whose_answer_was_lost_is_sent_again(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            for person in (None, "bob"):  # a new account, and a new password
                token = f"link for {person}"
                team.accounts.invite(token, Role.MEMBER, made_by="ann", days=1, person=person)
                fields = {"token": token, "name": "bob", "password": f"{GOOD} of {person}"}
                async with team.stranger() as lost, team.stranger() as browser:
                    await lost.post("/join", data=fields)
                    reply = await browser.post("/join", data=fields)
                    browser.headers["x-waymark-page-key"] = read_page_key(reply.text) or ""
                    assert await is_in(browser)
                async with team.stranger() as thief:
                    reply = await thief.post("/join", data=fields | {"password": "another four words in a row"})
                    assert (reply.status_code, reply.headers.get("set-cookie")) == (410, None)
            assert [each.name for each in team.accounts.list_accounts()] == ["bob"]

    asyncio.run(story())


IMPOSSIBLE = [("eve", "short"), ("eve", "aaaaaaaaaaaaaaaa"), ("evelyn-waymark", "Evelyn-Waymark1"), ("eve", "x" * 501)]
IMPOSSIBLE += [(name, GOOD) for name in ("LOCAL", "", "a,b", "BOB", "ｂｏｂ", "left", "x" * 81, "\u202e")]


def test_a_name_or_a_password_that_cannot_be_leaves_the_link_as_it_was(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            database = team.app.services.store.database
            database.has_accounts = False  # as behind a proxy
            team.fill("left")  # things of somebody who never had a password
            database.has_accounts = True
            team.accounts.invite("token", Role.MEMBER, made_by="ann", days=1)
            async with team.stranger() as browser:
                for name, password in IMPOSSIBLE:
                    fields = {"token": "token", "name": name, "password": password}
                    reply = await browser.post("/join", data=fields)
                    assert (reply.status_code, 'role="alert"' in reply.text) == (400, True), name
            assert len(team.accounts.list_invitations()) == 1
            assert [each.name for each in team.accounts.list_accounts()] == ["bob"]

    asyncio.run(story())


def test_the_right_password_begins_a_new_session_and_ends_the_former(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            async with team.stranger(cookie="waymark_443=chosen-by-eve") as browser:
                reply = await sign_in(browser, "BOB", next="/t/1?x=2")
                assert 'data-next="/t/1?x=2"' in reply.text
                first, known = reply.headers.get_list("set-cookie")
                assert "chosen-by-eve" not in first
                assert all(part in cookie for cookie in (first, known) for part in ("HttpOnly", "SameSite=strict", "Secure"))
                del browser.headers["cookie"]
                browser.cookies.clear()
                browser.headers["cookie"] = first.partition(";")[0]
                assert await is_in(browser)
                former = dict(browser.headers)
                again = await sign_in(browser, "bob")
                assert again.headers.get_list("set-cookie")[0] != first
                assert len(await team.authentication.sessions.list_open("bob")) == 1
                async with team.stranger(
                    cookie=former["cookie"], **{"x-waymark-page-key": former["x-waymark-page-key"]}
                ) as old:
                    assert not await is_in(old)

    asyncio.run(story())


NEXT = [
    "//evil.example",
    "https://evil.example",
    "/\\evil.example",
    "/t/\\evil",
    "javascript:alert(1)",
    "/x",
    "/t/\n",
    "",
    "/t/ä",
]


def test_the_sign_in_leads_to_this_host_alone(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            async with team.stranger() as browser:
                for address in NEXT:
                    assert 'data-next="/"' in (await sign_in(browser, "bob", next=address)).text, address
            async with team.stranger() as browser:
                for path in ("//evil.example/", "/\\evil.example/"):
                    text = (await browser.get(f"{URL}{path}", headers={"accept": "text/html"})).text
                    assert 'name="next" value="/"' in text

    asyncio.run(story())


def test_only_the_page_itself_sends_the_forms(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            for origin in ("https://evil.example", "null", ""):
                for path in ("/sign-in", "/join"):
                    async with team.stranger(origin=origin) as browser:
                        reply = await browser.post(path, data={"name": "bob", "password": GOOD})
                        assert (reply.status_code, reply.headers.get("set-cookie")) == (403, None)
            async with team.stranger() as browser:
                for method in ("PUT", "DELETE", "HEAD"):
                    assert (await browser.request(method, "/sign-in", data={"name": "bob"})).status_code == 405

    asyncio.run(story())


def test_nothing_tells_whether_a_name_exists(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            told = []
            for name in ("bob", "eve"):
                async with team.stranger((f"10.0.4.{len(told)}", 1)) as browser:
                    CountingHasher.calls = 0
                    replies = [await sign_in(browser, name, "a wrong password") for _ in range(7)]
                    told.append(
                        [(each.status_code, each.text.replace(name, "NAME")) for each in replies] + [CountingHasher.calls]
                    )
            assert told[0] == told[1]
            assert [status for status, _ in told[0][:-1]] == [401] * 5 + [429] * 2
            assert told[0][-1] == 5
            assert re.search(r"Try again in \d minute", told[0][5][1])

    asyncio.run(story())


def test_guesses_from_many_addresses_are_few_and_lock_nobody_out(hire: Any, memory_store: Store, clock: Clock) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            limits = team.authentication._limits = SignInLimits(SignInCounters(memory_store))
            async with team.stranger() as bob:
                await sign_in(bob, "bob")
                admitted, guesses = 0, 250
                for number in range(
                    guesses
                ):  # within an hour, each from another address and with the name in another writing
                    clock.turn(timedelta(hours=1) / guesses)
                    scope = {"type": "http", "headers": [], "client": (f"10.1.1.{number % 256}", 1)}
                    written = "b\u202eo" + "b".upper() + "\u200f" * number
                    admitted += limits.take(team.authentication._list_counters(scope, written, None)) == 0
                assert 60 < admitted <= sign_in_limits.BY_NAME.tries + 60
                assert (await sign_in(bob, "bob", "wrong")).status_code == 401
                assert (await sign_in(bob, "bob")).status_code == 200
            async with team.stranger(("10.1.1.9", 1)) as eve:
                assert (await sign_in(eve, "bob")).status_code == 429

    asyncio.run(story())


@pytest.mark.long
def test_ten_thousand_guesses_through_the_door_try_few_passwords_and_lock_nobody_out(hire: Any, rounds: Rounds) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            async with team.stranger() as bob:
                await sign_in(bob, "bob")
                hashed, begin, statuses = CountingHasher.calls, time.monotonic(), Counter[int]()
                for number in range(rounds(100)):
                    async with team.stranger((f"10.2.0.{number}", 1)) as eve:
                        for guess in range(100):
                            statuses[(await sign_in(eve, "bob", f"guess {number} {guess}")).status_code] += 1
                minutes = (time.monotonic() - begin) / 60
                assert statuses.keys() == {401, 429}
                assert statuses[401] <= sign_in_limits.BY_NAME.tries + minutes + 1
                assert CountingHasher.calls - hashed <= statuses[401]  # what is refused costs no hash
                assert (await sign_in(bob, "bob")).status_code == 200

    asyncio.run(story())


def test_a_new_password_ends_the_other_sessions_and_makes_all_browsers_strangers(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            async with team.browser("bob") as bob, team.browser("bob") as other, team.stranger() as stranger:
                for former, new, problem in (
                    ("a wrong password", "another five words in a row", "The present password is wrong."),
                    (GOOD, "short", "A password has at least 12 characters."),
                    (GOOD, "another five words in a row", None),
                ):
                    values = {"password-dialog-former.value": former, "password-dialog-new.value": new}
                    reply = (await post_callback(bob, "password-dialog-form.n_submit", values)).json()
                    shown = reply["sideUpdate"]["password-dialog-problem-text"]["children"] if problem else None
                    assert (shown, "password is changed" in str(reply)) == (problem, problem is None)
                assert (await is_in(bob), await is_in(other)) == (True, False)
                assert (await sign_in(stranger, "bob")).status_code == 401
                assert (await sign_in(stranger, "bob", "another five words in a row")).status_code == 200

    asyncio.run(story())


def test_a_person_sees_and_ends_their_own_sessions_alone(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("ann")
            team.add("bob")
            async with team.browser("ann") as ann, team.browser("bob") as bob, team.browser("bob") as other:
                [of_ann] = await team.authentication.sessions.list_open("ann")
                assert (await read_sessions(bob)).count('"session"') == 2
                await end_session(bob, of_ann.id)
                assert await is_in(other)
                await end_others(bob)
                assert [await is_in(each) for each in (ann, bob, other)] == [True, True, False]
                await bob.post("/api/sessions/current/end")
                assert [await is_in(each) for each in (ann, bob)] == [True, False]

    asyncio.run(story())


def test_a_new_role_ends_the_sessions_and_the_last_admin_stays(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("ann", Role.ADMIN)
            team.add("bob")
            async with team.browser("ann") as ann, team.browser("bob") as bob:
                assert await people_dialog.change_role(ann, "bob", "reader") is None
                assert not await is_in(bob)
                problem = await people_dialog.change_role(ann, "ann", "member")
                assert problem == "ann is the only admin. Make another one first."
                assert await people_dialog.erase(ann, "ann") == problem
                assert await is_in(ann)

    asyncio.run(story())


def test_a_name_of_any_letters_gets_a_role_a_password_and_is_erased(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("ann", Role.ADMIN)
            team.add("Jürgen 李")
            async with team.browser("ann") as ann:
                assert await people_dialog.change_role(ann, "Jürgen 李", "reader") is None
                assert "token=" in await people_dialog.make_link(ann, person="Jürgen 李")
                assert await people_dialog.count_things(ann, "Jürgen 李") == ["nothing yet"]
                assert [each.role for each in team.accounts.list_accounts()] == [Role.ADMIN, Role.READER]
                assert await people_dialog.erase(ann, "Jürgen 李") is None
            assert [each.name for each in team.accounts.list_accounts()] == ["ann"]

    asyncio.run(story())


def test_the_answers_of_who_becomes_a_reader_are_stopped(hire: Any) -> None:
    """They could stop none of them any more, and nobody else could."""

    async def story() -> None:
        async with hire(demo_seconds_per_token=5) as team:
            team.add("ann", Role.ADMIN)
            team.add("bob")
            begun = await begin_long_answer(team, "bob")
            async with team.browser("ann") as ann:
                for role, is_written in (("admin", True), ("member", True), ("reader", False)):
                    assert await people_dialog.change_role(ann, "bob", role) is None
                    assert (team.app.services.hub.find_live_run(begun.thread) is not None) == is_written, role
            with act_for("bob"):
                run = team.app.services.runs.get_latest_run(begun.thread)
            assert run
            assert run.state is RunState.STOPPED

    asyncio.run(story())


def test_an_answer_in_anothers_conversation_is_stopped_with_its_person_alone(hire: Any) -> None:
    async def story() -> None:
        async with hire(demo_seconds_per_token=5) as team:
            store = team.app.services.store
            for name, role in (("ann", Role.ADMIN), ("bob", Role.MEMBER), ("carol", Role.MEMBER)):
                team.add(name, role)
            with act_for("ann"):
                threads = {person: store.create_thread().id for person in ("bob", "carol")}
                for person, thread_id in product(threads, threads.values()):
                    Members(store).add_member(thread_id, person, ThreadRole.EDITOR)
            for person, thread_id in threads.items():
                action = {"type": "send", "request_id": f"request-of-{person}", "text": "heron"}
                async with team.browser(person) as browser:
                    body = {"pathname": f"/t/{thread_id}", "action": action}
                    assert (await browser.post("/api/actions/composer-panel", json=body)).json()["composer-panel"]["reply"][
                        "ok"
                    ]
            async with team.browser("ann") as ann:
                assert await people_dialog.change_role(ann, "bob", "reader") is None
            hub = team.app.services.hub
            assert hub.find_live_run(threads["bob"]) is None
            assert hub.find_live_run(threads["carol"]) is not None

    asyncio.run(story())


def test_who_is_erased_leaves_nothing(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("ann", Role.ADMIN)
            team.add("bob")
            of_ann, of_bob = team.fill("ann"), team.fill("bob")
            before = team.read_all("ann", of_ann.thread)
            async with team.browser("ann") as ann, team.browser("bob") as bob:
                counted = await people_dialog.count_things(ann, "bob")
                assert counted[0] == "1 conversation"
                assert counted[-2:] == ["1 tag", "1 saved prompt"]
                assert await people_dialog.erase(ann, "bob", "bo") == "Write the person's name to confirm."
                assert await people_dialog.erase(ann, "bob") is None
                assert not await is_in(bob)
            assert team.accounts.find_account("bob") is None
            assert not any(team.read_all("bob", of_bob.thread))
            assert team.read_all("ann", of_ann.thread) == before

    asyncio.run(story())


def test_an_answer_that_begins_while_its_person_is_erased_is_stopped(hire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with hire(demo_seconds_per_token=5) as team:
            team.add("ann", Role.ADMIN)
            team.add("bob")
            list_running, looks = PeopleAdmin._list_running, list[int]()

            def look_too_early(people: PeopleAdmin, name: str) -> list[str]:
                looks.append(1)
                return list_running(people, name) if len(looks) > 1 else []

            monkeypatch.setattr(PeopleAdmin, "_list_running", look_too_early)
            begun = await begin_long_answer(team, "bob")
            async with team.browser("ann") as ann:
                assert await people_dialog.erase(ann, "bob") is None
            assert len(looks) == 2
            assert team.app.services.hub.find_live_run(begun.thread) is None

    asyncio.run(story())


def test_an_erasure_tells_how_far_it_is_and_can_be_cancelled(hire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("ann", Role.ADMIN)
            team.add("bob")
            of_bob = team.fill("bob")
            before = team.read_all("bob", of_bob.thread)
            told: list[str] = []
            report = LongRequest.report

            def tell(request: LongRequest, progress: Progress) -> None:
                told.append(str(progress))
                request.is_cancelled = progress.phase == "Erasing"
                report(request, progress)

            monkeypatch.setattr(LongRequest, "report", tell)
            async with team.browser("ann") as ann:
                followed = {"waymark-request": "erasure"}
                assert await people_dialog.erase(ann, "bob", headers=followed) == "It was cancelled."
                assert team.read_all("bob", of_bob.thread) == before
                assert told[:2] == ["Counting: 0 of 1 conversations", "Counting: 1 of 1 conversations"]
                assert told[2].startswith("Erasing: 0 of ")
                monkeypatch.setattr(LongRequest, "report", report)
                assert await people_dialog.erase(ann, "bob", headers=followed) is None

    asyncio.run(story())


@pytest.mark.slow
def test_a_reader_changes_nothing_by_any_request(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("ann", Role.ADMIN)
            team.add("bob")
            bob = team.fill("bob")
            team.accounts.change_role("bob", Role.READER)
            before = (team.read_all("bob", bob.thread), team.accounts.list_accounts())
            requests = list(await team.list_requests())
            told = [(each, *await ask(team, "bob", walk.fill_in(each, bob), bob)) for each in requests]
            assert (team.read_all("bob", bob.thread), team.accounts.list_accounts()) == before
            assert max(status for _, status, _ in told) < 500
            refused = sum("You have read-only access." in text for _, _, text in told)
            assert refused > 40
            shown = [text for request, status, text in told if request.path.endswith("/export") and status == 200]
            assert any("the heron of bob" in text for text in shown)

    asyncio.run(story())


@pytest.mark.slow
@pytest.mark.parametrize("role", [Role.MEMBER, Role.READER])
def test_every_request_with_anothers_ids_is_answered_as_if_they_never_were(hire: Any, role: Role) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("ann", Role.ADMIN)
            team.add("bob", role)
            ann = team.fill("ann")
            before = team.read_all("ann", ann.thread)
            for request in list(await team.list_requests()):
                unknown = await ask(team, "bob", walk.fill_in(request, NOTHING), NOTHING)
                told = await ask(team, "bob", walk.fill_in(request, ann), ann)
                assert told == unknown, request
                assert "of ann" not in told[1], request
                if re.search('"output": "[.]*(people-|person-)', request.body):
                    assert told[0] == 400, request
                    assert "Not found." in told[1], request
            assert team.read_all("ann", ann.thread) == before

    asyncio.run(story())


@pytest.mark.slow
def test_without_a_session_every_address_but_the_public_ones_is_closed(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("ann", Role.ADMIN)
            team.add("bob")
            ann, requests = team.fill("ann"), list(await team.list_requests())
            of_ann, of_bob, ended = (
                team.begin_session(*each) for each in (("ann", "admin"), ("bob", "member"), ("ann", "admin"))
            )
            await team.authentication.sessions.end([ended.session.id])
            public = {*page_server.ALLOWED_ROUTES.public_paths, "/sign-in", "/join"}
            for cookie, key in (
                ("", ""),
                (ended.cookie, ended.page_key),
                (of_ann.cookie, ""),
                (of_ann.cookie, of_bob.page_key),
            ):
                headers = {"cookie": f"waymark_443={cookie}"}
                async with team.stranger(**headers, **{"x-waymark-page-key": key}) as stranger:
                    for request in requests:
                        is_frame = request.path == "/" or request.path.startswith("/t/")
                        if request.path not in public and not is_frame:
                            assert (await walk.send(stranger, walk.fill_in(request, ann))).status_code == 401, request
                headers |= {"host": "waymark.example", "origin": URL, "sec-websocket-protocol": f"waymark, {key}"}
                for request in walk.list_sockets(team.server):
                    sent = await walk.follow(team.app.asgi, walk.fill_in(request, ann), headers, ("10.0.3.7", 1))
                    assert [each["type"] for each in sent] == ["websocket.close"]

    asyncio.run(story())


def test_the_socket_of_a_session_ends_with_it(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            created = team.begin_session("bob", "member")
            headers = {"host": "waymark.example", "origin": URL, "cookie": f"waymark_443={created.cookie}"}
            headers |= {"sec-websocket-protocol": f"waymark, {created.page_key}"}
            request = walk.Request("WEBSOCKET", "/api/events")
            following = asyncio.ensure_future(walk.follow(team.app.asgi, request, headers, ("10.0.3.7", 1)))
            await team.authentication.sessions.find(created.cookie)  # it follows the session before
            team.accounts.change_role("bob", Role.READER)
            assert (await following)[-1] == {"type": "websocket.close", "code": 4401}

    asyncio.run(story())


def test_a_session_begins_for_an_account_that_is_still_the_same_and_opens_no_other_way_in(hire: Any, tmp_path: Path) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob", Role.READER)
            created = team.begin_session("bob", "reader")
            for person, role, credential in (
                ("bob", "admin", None),
                ("eve", "member", None),
                ("bob", "reader", "other hash"),
            ):
                with pytest.raises(AccountChangedError):
                    await team.authentication.sessions.begin("", person, role, credential)
        async with hire() as team:
            found = await team.authentication.sessions.find("x", created.cookie)
            assert found
            assert (found.id, found.person, found.role) == (created.session.id, "bob", "reader")
        app = create_app(Settings(model="demo", data_dir=tmp_path / "data"), port=8050)
        assert app.sign_in
        assert await app.sign_in.sessions.find(created.cookie) is None
        await app.close()

    asyncio.run(story())


def test_the_page_tells_each_what_they_may_do(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            for name, role in (("ann", Role.ADMIN), ("bob", Role.MEMBER), ("cy", Role.READER)):
                team.add(name, role)
            told = {}
            for name in ("ann", "bob", "cy"):
                async with team.browser(name) as browser:
                    panels = (await request_panels(browser)).json()
                    shown = {
                        each for each in ("people", "change-password", "leave", "sign-out") if not panels[each]["hidden"]
                    }
                    told[name] = (panels["person-name"]["children"], shown)
            assert told == {
                "ann": ("Signed in as ann", {"people", "change-password", "leave"}),
                "bob": ("Signed in as bob", {"change-password", "leave"}),
                "cy": ("Signed in as cy (read-only)", {"change-password", "leave"}),
            }

    asyncio.run(story())


def test_a_reader_stops_no_answer_and_uploads_nothing(hire: Any) -> None:
    async def story() -> None:
        async with hire(demo_seconds_per_token=5) as team:
            team.add("bob")
            async with team.browser("bob") as bob:
                request_id = "a0a0a0a0-0000-4000-8000-a0a0a0a0a0a0"
                action = {"type": "send", "request_id": request_id, "text": "Hello"}
                await bob.post("/api/actions/composer-panel", json={"pathname": "/", "action": action})
            team.accounts.change_role("bob", Role.READER)
            async with team.browser("bob") as bob:
                place, stop = f"/t/{request_id}", {"type": "stop", "request_id": "y"}
                await bob.post("/api/actions/composer-panel", json={"pathname": place, "action": stop})
                assert (await bob.get("/api/runs")).json() == {"running": [request_id]}
                assert (await bob.post("/api/uploads/file", content=b"x")).status_code == 403
                assert (await request_panels(bob, place)).json()["transcript"]["data"]["thread"] == request_id
            with act_for("bob"):
                await team.app.services.runner.stop(request_id)

    asyncio.run(story())


def test_two_that_use_one_link_at_once_are_one(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.accounts.invite("token", Role.MEMBER, made_by="ann", days=1)
            async with team.stranger() as one, team.stranger() as other:
                fields = [{"token": "token", "name": name, "password": GOOD} for name in ("bob", "eve")]
                replies = await asyncio.gather(one.post("/join", data=fields[0]), other.post("/join", data=fields[1]))
            assert sorted(each.status_code for each in replies) == [200, 410]
            assert len(team.accounts.list_accounts()) == 1

    asyncio.run(story())


def test_a_person_keeps_what_is_theirs_over_a_new_password(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("ann", Role.ADMIN)
            team.add("bob")
            bob = team.fill("bob")
            async with team.browser("ann") as ann, team.browser("bob") as former, team.stranger() as browser:
                token = (await people_dialog.make_link(ann, person="bob")).partition("token=")[2]
                assert 'value="bob"' in (await browser.get(f"/join?token={token}")).text
                fields = {"token": token, "name": "eve", "password": "another five words in a row"}
                assert (await browser.post("/join", data=fields)).status_code == 200
                assert not await is_in(former)
            assert [each.role for each in team.accounts.list_accounts()] == [Role.ADMIN, Role.MEMBER]
            with act_for("bob"):
                assert team.app.services.store.get_thread(bob.thread).owner == "bob"
            with pytest.raises(InvalidAccountError):
                team.accounts.invite("x", Role.MEMBER, made_by="ann", days=1, person="eve")

    asyncio.run(story())


def test_a_lost_database_signs_nobody_out_and_lets_nobody_in(hire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            created, other = team.begin_session("bob", "member"), team.begin_session("bob", "member")
            key = {"x-waymark-page-key": created.page_key}
            async with team.stranger(cookie=f"waymark_443={created.cookie}", **key) as bob, team.stranger() as stranger:
                assert await is_in(bob)
                with monkeypatch.context() as lost:
                    lost.setattr(Database, "begin_read", lose_database)
                    assert (await bob.get("/_dash-dependencies")).status_code == 200  # known from before
                    bob.headers["cookie"] = f"waymark_443={other.cookie}"
                    reply = await bob.get("/api/sessions")
                    assert (reply.status_code, reply.text) == (503, "The database server does not answer.\n")
                    assert "set-cookie" not in reply.headers
                    reply = await sign_in(stranger, "bob", next="/t/1")
                    assert reply.status_code == 503
                    assert all(part in reply.text for part in ('value="bob"', 'value="/t/1"', "does not answer"))
                    request = walk.Request("WEBSOCKET", "/api/events")
                    headers = {"host": "waymark.example", "origin": URL, "cookie": bob.headers["cookie"]}
                    sent = await walk.follow(team.app.asgi, request, headers, ("10.0.3.7", 1))
                    assert sent[-1]["type"] == "websocket.close"
                    assert sent[-1]["code"] != 4401
                bob.headers["cookie"] = f"waymark_443={created.cookie}"
                assert await is_in(bob)

    asyncio.run(story())


def lose_database(*_: Any, **__: Any) -> Any:
    raise StoreUnavailableError(sentence("The database server does not answer."))


def test_readings_of_sessions_that_wait_for_one_another_go_together(hire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            created, batches = team.begin_session("bob", "member"), list[int]()
            find = StoredSessions.find

            def count_and_find(self: StoredSessions, hashes: Any) -> Any:
                batches.append(len(hashes))
                return find(self, hashes)

            monkeypatch.setattr(StoredSessions, "find", count_and_find)
            cookies = [*(f"invented {number}" for number in range(200)), created.cookie]
            found = await asyncio.gather(*(team.authentication.sessions.find(each) for each in cookies))
            assert [each is not None for each in found] == [False] * 200 + [True]
            assert sum(batches) == 201
            assert len(batches) <= 2

    asyncio.run(story())


def test_a_use_that_cannot_be_noted_yet_keeps_no_request_waiting(hire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            created, is_free, noted = team.begin_session("bob", "member"), threading.Event(), list[str]()

            def note_late(_: StoredSessions, session_id: str) -> None:
                assert is_free.wait(60)
                noted.append(session_id)

            monkeypatch.setattr(StoredSessions, "note_use", note_late)
            sessions = team.authentication.sessions
            for _ in range(3):
                await sessions.note_use(replace(created.session, seen_at=0))
                assert await sessions.find(created.cookie)
            is_free.set()
            await asyncio.gather(*sessions._noting.values())  # type: ignore[attr-defined]
            assert noted == [created.session.id]

    asyncio.run(story())


def test_a_sign_in_while_the_password_is_changed_begins_nothing(hire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("bob")
            verify = team.authentication.passwords.verify

            async def verify_late(stored: str | None, password: str) -> bool:
                fits = await verify(stored, password)
                assert stored
                team.accounts.change_password("bob", stored, CHEAP().hash("another five words"), session_id="")
                return fits

            monkeypatch.setattr(team.authentication.passwords, "verify", verify_late)
            async with team.stranger() as thief:
                reply = await sign_in(thief, "bob")
                assert (reply.status_code, reply.headers.get("set-cookie")) == (409, None)
            assert await team.authentication.sessions.list_open("bob") == []

    asyncio.run(story())


@pytest.mark.parametrize("path", ["/sign-in", "/join", "/_dash-update-component", "/api/uploads/import"])
def test_strangers_send_little(hire: Any, path: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 1_000

    async def story() -> None:
        async with hire() as team, team.stranger() as stranger:
            for content in (b"x" * 20_000, pieces()):
                assert (await stranger.post(path, content=content)).status_code in (401, 413)

    asyncio.run(story())


def test_the_log_has_no_password_no_token_and_no_name_that_was_typed(hire: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def story() -> None:
        async with hire() as team:
            link = team.app.create_link()
            token = link.partition("token=")[2]
            async with team.stranger() as ann:
                await ann.get(link)
                await ann.post("/join", data={"token": token, "name": "Ann", "password": "too short"})
                await ann.post("/join", data={"token": token, "name": "Ann", "password": GOOD})
                await ann.get(link)
            async with team.stranger() as stranger:
                reply = await sign_in(stranger, "my secret in the wrong field", "another secret of mine")
                assert reply.status_code == 401
                secrets = [token, GOOD, "too short", "my secret", "another secret", *stranger.cookies.values()]
            logged = "\n".join(each.getMessage() for each in caplog.records if each.name != "httpx")  # which is the browser
            assert [each for each in secrets if each in logged] == []
            assert "a wrong password from" in logged

    asyncio.run(story())


def test_of_two_admins_who_dismiss_each_other_one_stays(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team:
            for name in ("ann", "eve"):
                team.add(name, Role.ADMIN)
            async with team.browser("ann") as ann, team.browser("eve") as eve:
                changes = (people_dialog.change_role(ann, "eve", "member"), people_dialog.erase(eve, "ann"))
                replies = await asyncio.gather(*changes, return_exceptions=True)
                # Whose session the other has ended meanwhile is asked to sign in.
                assert all("Sign in first." in str(each) for each in replies if isinstance(each, BaseException))
            assert [each.role for each in team.accounts.list_accounts()].count(Role.ADMIN) == 1

    asyncio.run(story())
