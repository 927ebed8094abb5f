"""People whom a provider signs in, and the attacks on their way there and back."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from html import unescape
from operator import add
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlencode, urlsplit

import httpx
import pytest
from fastapi import FastAPI

from app import App, create_app
from application.commands.arguments import parse_arguments
from application.composition import page_server
from application.settings import Settings
from checkpoints.people.audit_log import AuditLog
from checkpoints.upkeep.person_erasure import erase_person
from checkpoints.values.audit_entry import AuditKind
from components.views.audit_sentences import describe_entry
from extensions.people import sign_in_limits
from extensions.people.accounts import Accounts
from extensions.people.commands import COMMANDS, readmit_person
from extensions.people.oidc_sign_in import OidcSignIn
from server.bounded_log import MAX_LINES
from tests import people_dialog, walk
from tests.fakes.oidc import CLIENT, DISCOVERY, SECRET, FakeProvider, reply_with
from tests.page_key import read_page_key
from tests.people import NOTHING
from tests.running_app import post_callback
from tests.sharing import row

JSON = dict[str, Any]
URL = "https://waymark.example"
MEMBER = {"groups": ["staff"], "name": "Ann"}
UNVERIFIED = "could not be verified"
OUTDATED = "took too long, was used already, or began in another browser"
UNREACHABLE = "does not answer"


@dataclass
class Team:
    """An app whose people sign in at a provider."""

    app: App
    server: FastAPI
    provider: FakeProvider

    @property
    def authentication(self) -> OidcSignIn:
        assert isinstance(self.app.sign_in, OidcSignIn)
        return self.app.sign_in

    @property
    def accounts(self) -> Accounts:
        return self.authentication.accounts

    def list_people(self) -> list[tuple[str, str]]:
        return [(each.name, each.role) for each in self.accounts.list_accounts()]

    def browser(self, **headers: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app.asgi, client=("10.0.3.7", 1))
        return httpx.AsyncClient(transport=transport, base_url=URL, headers={"origin": URL, **headers})

    async def begin(self, browser: httpx.AsyncClient, **fields: str) -> str:
        """Press the button, and return the address at the provider."""
        return read_refresh(await browser.post("/sign-in", data=fields))

    async def come_in(self, browser: httpx.AsyncClient, *, sub: str = "1", **claims: Any) -> httpx.Response:
        """Sign in; the browser then is in, or the answer says why not."""
        callback = self.provider.authorize(await self.begin(browser), sub=sub, **(MEMBER | claims))
        return await self.come_back(browser, callback)

    async def come_back(self, browser: httpx.AsyncClient, callback: str) -> httpx.Response:
        reply = await browser.get(callback)
        browser.headers["x-waymark-page-key"] = read_page_key(reply.text) or ""
        return reply


@pytest.fixture
def identity_provider() -> Iterator[FakeProvider]:
    with FakeProvider() as found:
        yield found


@pytest.fixture
def hire(tmp_path: Path, identity_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    made: list[FastAPI] = []

    def make_server(**options: Any) -> FastAPI:
        made.append(FastAPI(**options))
        return made[-1]

    monkeypatch.setattr(page_server, "FastAPI", make_server)

    @asynccontextmanager
    async def open_team(**settings: Any) -> AsyncIterator[Team]:
        given: JSON = {"model": "demo", "titles": "off", "auth": "oidc", "public_url": URL, "data_dir": tmp_path / "data"}
        given |= {"oidc_issuer": identity_provider.issuer, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET}
        given |= {"oidc_admin_groups": "bosses", "oidc_member_groups": "staff,crew", "oidc_reader_groups": "user_graphs"}
        app = create_app(Settings(**given | settings), port=8050)
        try:
            yield Team(app, made[-1], identity_provider)
        finally:
            await app.close()

    return open_team


def read_refresh(reply: httpx.Response) -> str:
    found = re.search('http-equiv="refresh" content="0; url=([^"]+)"', reply.text)
    assert found, reply.text
    return unescape(found[1])


def read_cookie(cookie: str) -> JSON:
    found: JSON = json.loads(unquote(cookie.partition("=")[2].partition(";")[0]))
    return found


async def is_in(browser: httpx.AsyncClient) -> bool:
    return (await browser.get("/api/threads")).status_code == 200


def run(story: Callable[[], Any]) -> None:
    asyncio.run(story())


def test_the_first_sign_in_makes_a_member_and_the_next_one_knows_them(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as first, team.browser() as second:
            assert 'method="post"' in (await first.get("/sign-in")).text
            reply = await team.come_in(first, name="Ann", email="ann@example.org", email_verified=True)
            assert (reply.status_code, await is_in(first)) == (200, True)
            await team.come_in(second, name="Ann Smith", email="other@example.org")
            assert await is_in(second)
            assert team.list_people() == [("Ann (ann@example.org)", "member")]

    run(story)


def test_the_browser_goes_on_where_it_was_and_to_no_other_host(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            page = await browser.get("/t/1?x=2", headers={"accept": "text/html"})
            assert (page.status_code, 'name="next" value="/t/1?x=2"' in page.text) == (401, True)
            for wanted, found in (
                ("/t/1?x=2", "/t/1?x=2"),
                ("//evil.example", "/"),
                ("https://evil.example", "/"),
                ("/\\evil.example", "/"),
                ("/t/" + "x" * 2000, "/"),
            ):
                callback = team.provider.authorize(await team.begin(browser, next=wanted), **MEMBER)
                assert f'data-next="{found}"' in (await team.come_back(browser, callback)).text
            assert not any("request" in each.name for each in browser.cookies.jar)  # of sign-ins that have ended

    run(story)


def test_the_cookies_of_a_sign_in_are_for_this_host_and_no_script(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            reply = await browser.post("/sign-in")
            [cookie] = reply.headers.get_list("set-cookie")
            assert cookie.startswith("__Host-waymark_request_")
            assert all(part in cookie for part in ("HttpOnly", "Secure", "SameSite=lax", "Path=/", "Max-Age=600"))
            given = parse_qs(urlsplit(read_refresh(reply)).query)
            [kept] = [each for name, each in read_cookie(cookie).items() if name != "next"]
            assert kept["data"]["code_verifier"] not in str(given)
            assert given["redirect_uri"] == [f"{URL}/sign-in/callback"]
            callback = team.provider.authorize(read_refresh(reply), **MEMBER)
            ended, begun = (await team.come_back(browser, callback)).headers.get_list("set-cookie")[::-1]
            assert "Max-Age=0" in ended
            assert all(part in begun for part in ("HttpOnly", "Secure", "SameSite=strict"))

    run(story)


def test_a_browser_from_the_provider_asks_once_more_and_ends_its_former_session(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            await team.come_in(browser)
            callback = team.provider.authorize(await team.begin(browser), **MEMBER)
            bounced = await browser.get(callback, headers={"sec-fetch-site": "cross-site"})
            assert (read_refresh(bounced), bounced.headers.get("set-cookie")) == (callback, None)
            await team.come_back(browser, callback)
            assert len(await team.authentication.sessions.list_open("Ann")) == 1

    run(story)


def test_groups_give_the_role_and_whoever_has_none_is_refused(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            for sub, groups in enumerate(("bosses", "crew", "user_graphs", "others")):
                reply = await team.come_in(browser, sub=str(sub), name=f"n{sub}", groups=[groups])
            assert team.list_people() == [("n0", "admin"), ("n1", "member"), ("n2", "reader")]
            assert (reply.status_code, "in none of the groups" in reply.text) == (403, True)
            assert 'href="/sign-in"' in reply.text

    run(story)


def test_each_sign_in_renews_the_role_and_ends_what_had_the_former(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as first, team.browser() as second, team.browser() as third:
            await team.come_in(first, groups=["bosses"])
            assert (await people_dialog.read_people(first)).status_code == 200
            await team.come_in(second, groups=["user_graphs"])
            assert [await is_in(each) for each in (first, second)] == [False, True]
            assert team.list_people() == [("Ann", "reader")]
            await team.come_in(third, groups=["others"])
            assert [await is_in(each) for each in (second, third)] == [False, False]

    run(story)


def test_refused_sign_ins_are_in_the_audit_log_the_first_of_each_minute(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            for _ in range(10):
                assert (await team.come_in(browser, groups=["others"])).status_code == 403
            found = AuditLog(team.app.services.store).list_entries(50)
            assert [(each.kind, each.person, each.about, each.address) for each in found] == [
                (AuditKind.SIGN_IN_REFUSED, "", "", "10.0.3.7")
            ] * MAX_LINES
            assert describe_entry(found[0])["text"] == "A sign-in at the provider was refused"

    run(story)


@pytest.mark.parametrize("group", ["user_graphs", "others"])
def test_the_answers_of_who_may_not_write_any_more_are_stopped(hire: Any, group: str) -> None:
    async def story() -> None:
        async with hire(demo_seconds_per_token=5) as team, team.browser() as first, team.browser() as second:
            await team.come_in(first)
            request_id = "a0a0a0a0-0000-4000-8000-a0a0a0a0a0a0"
            action = {"type": "send", "request_id": request_id, "text": "the heron of Ann"}
            await first.post("/api/actions/composer-panel", json={"pathname": "/", "action": action})
            hub = team.app.services.hub
            assert hub.find_live_run(request_id)
            await team.come_in(second)  # with the same role
            assert hub.find_live_run(request_id)
            await team.come_in(second, groups=[group])
            assert hub.find_live_run(request_id) is None

    run(story)


def test_whoever_was_erased_is_refused_and_told_how_to_come_back(hire: Any, tmp_path: Path) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            await team.come_in(browser)
            erase_person(team.app.services.store.database, "Ann")
            reply = await team.come_in(browser)
            assert (reply.status_code, "Your account here was removed" in reply.text) == (403, True)
            assert (team.list_people(), await is_in(browser)) == ([], False)
            found = re.search(r"code: (\w+)", reply.text)
            assert found
            settings = Settings(data_dir=tmp_path / "data")
            for code, status in (("x", 2), (found[1], 0), (found[1], 2)):
                assert readmit_person(parse_arguments(["readmit", code], COMMANDS), settings) == status
            await team.come_in(browser)
            assert await is_in(browser)

    run(story)


def test_nobody_becomes_another_by_a_name_or_an_address_of_mail(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as ann, team.browser() as eve:
            await team.come_in(ann, email="ann@example.org", email_verified=True)
            await team.come_in(eve, sub="2", email="ann@example.org", email_verified=True)
            assert [each for each, _ in team.list_people()] == ["Ann (ann@example.org)", "Ann (ann@example.org) 2"]

    run(story)


def test_a_sign_in_ends_in_the_browser_that_began_it_alone_and_once(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as ann, team.browser() as eve:
            callback = team.provider.authorize(await team.begin(eve), **MEMBER)
            for browser in (ann, eve, eve):  # login CSRF; in order; again
                reply = await team.come_back(browser, callback)
                assert (OUTDATED in reply.text) == (not await is_in(browser))
                browser.headers["x-waymark-page-key"] = ""
            assert len(await team.authentication.sessions.list_open("Ann")) == 1
            await team.begin(ann)
            reply = await team.come_back(ann, callback)  # a sign-in of her own is under way
            assert (OUTDATED in reply.text, team.provider.requests.count("/token")) == (True, 1)

    run(story)


def test_a_cookie_leads_to_no_other_host(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            reply = await browser.post("/sign-in")
            callback = team.provider.authorize(read_refresh(reply), **MEMBER)
            [cookie] = reply.headers.get_list("set-cookie")
            forged = json.dumps(read_cookie(cookie) | {"next": "https://evil.example"})
            browser.cookies.clear()
            browser.headers["cookie"] = f"{cookie.partition('=')[0]}={quote(forged)}"
            assert 'data-next="/"' in (await team.come_back(browser, callback)).text

    run(story)


FORGED = [
    "",
    "%",
    "7",
    "[]",
    "{}",
    '{"_x": 7}',
    '{"_state_provider_x": 7}',
    '{"_state_provider_x": {"data": 7}}',
    "[" * 9000,
]


@pytest.mark.parametrize("value", FORGED)
def test_another_cookie_is_no_sign_in(hire: Any, value: str) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            name = (await browser.post("/sign-in")).headers["set-cookie"].partition("=")[0]
            browser.cookies.clear()
            reply = await browser.get("/sign-in/callback?state=x&code=y", headers={"cookie": f"{name}={quote(value)}"})
            assert (reply.status_code in (403, 502), 'href="/sign-in"' in reply.text) == (True, True)
            assert team.provider.requests == [DISCOVERY]

    run(story)


def test_a_cookie_that_was_kept_brings_a_used_code_back_in_vain(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser, team.browser() as thief:
            address = await team.begin(browser)
            kept = {each.name: each.value or "" for each in browser.cookies.jar}
            callback = team.provider.authorize(address, **MEMBER)
            await team.come_back(browser, callback)
            thief.headers["cookie"] = "; ".join(f"{name}={value}" for name, value in kept.items())
            reply = await team.come_back(thief, callback)
            assert (reply.status_code, OUTDATED in reply.text, await is_in(thief)) == (403, True, False)

    run(story)


def test_a_code_is_worth_nothing_in_another_sign_in(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as ann, team.browser() as eve:
            stolen = parse_qs(urlsplit(team.provider.authorize(await team.begin(ann), **MEMBER)).query)["code"]
            own = dict(parse_qsl(urlsplit(team.provider.authorize(await team.begin(eve), **MEMBER)).query))
            reply = await team.come_back(eve, f"/sign-in/callback?{urlencode({**own, 'code': stolen[0]})}")
            assert (UNVERIFIED in reply.text, await is_in(eve)) == (True, False)
        assert team.provider.violations == ["the verifier"]
        team.provider.violations.clear()

    run(story)


FIELDS = ["", "state=x", "code=x", "state=", "&" * 50, "state={state}&state={state}", "state=%ff%00"]


def test_an_answer_without_the_state_is_refused_before_the_provider_is_asked(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            for fields in FIELDS:
                state = parse_qs(urlsplit(await team.begin(browser)).query)["state"][0]
                reply = await browser.get(f"/sign-in/callback?{fields.format(state=state)}")
                assert (reply.status_code, OUTDATED in reply.text) == (403, True), fields
            assert team.provider.requests == [DISCOVERY]

    run(story)


ERRORS = {
    "access_denied": "was cancelled, or the sign-in service refused it",
    "server_error": "reported an error",
    "<script>": "reported an error",
}


def test_an_error_of_the_provider_is_one_sentence_and_a_way_back(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            for error, text in ERRORS.items():
                state = parse_qs(urlsplit(await team.begin(browser)).query)["state"][0]
                fields = {"error": error, "error_description": "<b>Call 0900 1234</b>", "state": state}
                reply = await browser.get(f"/sign-in/callback?{urlencode(fields)}")
                assert (reply.status_code, text in reply.text, 'href="/sign-in"' in reply.text) == (403, True, True)
                assert not any(each in reply.text for each in ("<script>", "0900"))
            await team.come_in(browser)
            assert await is_in(browser)

    run(story)


def test_an_answer_of_another_provider_is_refused(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            callback = team.provider.authorize(await team.begin(browser), **MEMBER)
            reply = await team.come_back(browser, f"{callback}&iss=https%3A%2F%2Fevil.example")
            assert (reply.status_code, UNVERIFIED in reply.text, await is_in(browser)) == (403, True, False)
            assert "/token" not in team.provider.requests

    run(story)


def test_a_token_for_another_and_a_provider_that_is_down_are_one_sentence_each(
    hire: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            reply = await team.come_in(browser, aud="another")
            assert (reply.status_code, UNVERIFIED in reply.text, 'href="/sign-in"' in reply.text) == (403, True, True)
            callback = team.provider.authorize(await team.begin(browser), **MEMBER)
            team.provider.stop()
            reply = await team.come_back(browser, callback)
            assert (reply.status_code, UNREACHABLE in reply.text, 'href="/sign-in"' in reply.text) == (502, True, True)
            assert (await is_in(browser), team.list_people()) == (False, [])

    run(story)
    assert "a sign-in failed: the token is not valid: invalid_claim aud" in caplog.text
    assert SECRET not in caplog.text


def test_a_signed_out_browser_is_sent_to_the_providers_way_out(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            await team.come_in(browser)
            assert (await browser.post("/api/sessions/current/end")).is_success
            own = {"sec-fetch-site": "same-origin"}
            address = read_refresh(await browser.get("/sign-in?signed-out=", headers=own))
            assert address.startswith(f"{team.provider.issuer}/leave?theme=dark&")
            found = parse_qs(urlsplit(address).query)
            assert (found["client_id"], found["post_logout_redirect_uri"]) == ([CLIENT], [f"{URL}/sign-in"])
            other = await browser.get("/sign-in?signed-out=", headers={"sec-fetch-site": "cross-site"})
            team.provider.metadata.pop("end_session_endpoint")
            team.authentication.provider._ends_at = 0
            without = await browser.get("/sign-in?signed-out=", headers=own)
            assert all('method="post"' in each.text for each in (other, without))

    run(story)


def test_a_session_ends_when_the_sign_in_is_too_old(hire: Any) -> None:
    async def story() -> None:
        async with hire(oidc_session_hours=1) as team, team.browser() as browser:
            await team.come_in(browser)
            for minutes, is_open in ((59, True), (61, False)):
                team.authentication.sessions._stored._now = partial(add, datetime.now(UTC), timedelta(minutes=minutes))
                assert await is_in(browser) == is_open

    run(story)


def test_many_failing_sign_ins_of_one_address_do_not_reach_the_provider(hire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_limits, "BY_ADDRESS", sign_in_limits.Allowance(3, 1000))

    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            statuses = []
            for _ in range(5):
                state = parse_qs(urlsplit(await team.begin(browser)).query)["state"][0]
                statuses.append((await browser.get(f"/sign-in/callback?code=guessed&state={state}")).status_code)
            assert statuses == [403] * 3 + [429] * 2
            assert team.provider.requests.count("/token") == 3

    run(story)


def test_an_outage_and_people_in_no_group_use_no_tries_up(hire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_limits, "BY_ADDRESS", sign_in_limits.Allowance(1, 1000))

    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            team.provider.answers["/token"] = reply_with(b"", 503)
            assert [(await team.come_in(browser)).status_code for _ in range(2)] == [502] * 2
            team.provider.answers.clear()
            assert [(await team.come_in(browser, groups=[])).status_code for _ in range(2)] == [403] * 2
            await team.come_in(browser)
            assert await is_in(browser)

    run(story)


def test_an_admin_sees_and_erases_people_and_makes_no_links(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as ann, team.browser() as bob:
            await team.come_in(ann, groups=["bosses"])
            await team.come_in(bob, sub="2", name="Bob")
            assert (await people_dialog.read_people(bob)).status_code == 400
            listed = await people_dialog.read_people(ann)
            assert people_dialog.list_people(listed) == ["Ann", "Bob"]
            assert people_dialog.list_roles(listed) == []
            role = row("person-role", "member:Bob", "value")
            for trigger in ("people-form.n_submit", row("person-link-end", "a"), role):
                values = {role: "admin", "people-role.value": "admin", "people-days.value": "7"}
                reply = await post_callback(ann, trigger, values, output=people_dialog.CHANGED)
                assert (reply.status_code, "Not found." in reply.text) == (400, True)
            values = dict.fromkeys(("password-dialog-former.value", "password-dialog-new.value"), "x")
            assert (await post_callback(ann, "password-dialog-form.n_submit", values)).status_code == 400
            assert await people_dialog.erase(ann, "Bob") is None
            assert not await is_in(bob)

    run(story)


def test_sessions_of_passwords_open_nothing_and_the_other_way_round(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as browser:
            await team.come_in(browser)
            kept = dict(browser.headers), dict(browser.cookies)
        async with (
            hire(auth="password") as team,
            httpx.AsyncClient(
                transport=httpx.ASGITransport(team.app.asgi), base_url=URL, headers=kept[0], cookies=kept[1]
            ) as browser,
        ):
            assert not await is_in(browser)

    run(story)


@pytest.mark.slow
def test_without_a_session_every_address_but_the_public_ones_is_closed(hire: Any) -> None:
    async def story() -> None:
        async with hire() as team, team.browser() as ann, team.browser() as stranger:
            await team.come_in(ann, groups=["bosses"])
            requests = list(walk.list_requests(team.server, (await ann.get("/_dash-dependencies")).json()))
            public = {*page_server.ALLOWED_ROUTES.public_paths, "/sign-in", "/sign-in/callback"}
            closed = [each for each in requests if each.path not in public and each.path != "/" and each.path[:3] != "/t/"]
            assert len(closed) > 40
            async with team.browser() as used:
                await team.come_in(used, sub="2")
                [cookie], key = used.cookies.items(), used.headers["x-waymark-page-key"]
                headers = {"cookie": "=".join(cookie), "x-waymark-page-key": key}
                async with team.browser(**headers) as open_browser:
                    assert await is_in(open_browser)
            person = next(name for name, _ in team.list_people() if name != "Ann")
            await team.authentication.sessions.end(
                [each.id for each in await team.authentication.sessions.list_open(person)]
            )
            async with team.browser(**headers) as ended:
                for request in closed:
                    for browser in (stranger, ended):
                        assert (await walk.send(browser, walk.fill_in(request, NOTHING))).status_code == 401, request
            named = {**headers, "host": "waymark.example", "origin": URL, "sec-websocket-protocol": f"waymark, {key}"}
            for request in walk.list_sockets(team.server):
                sent = await walk.follow(team.app.asgi, walk.fill_in(request, NOTHING), named, ("10.0.3.7", 1))
                assert [each["type"] for each in sent] == ["websocket.close"], request
            assert (await stranger.post("/sign-in", content=b"next=" + b"x" * 20_000)).status_code == 413
            for origin in ("https://evil.example", "null", ""):
                assert (await stranger.post("/sign-in", headers={"origin": origin})).status_code == 403

    run(story)
