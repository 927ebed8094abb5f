"""What a running Waymark writes to the audit log, and who reads it."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from checkpoints import Store, act_for
from checkpoints.people.audit_log import AuditLog
from checkpoints.rows.account_rows import Role
from checkpoints.values.audit_entry import AuditKind
from components.panels import audit
from tests import sharing
from tests.extensions.people import test_password
from tests.extensions.people.test_password import Team, sign_in
from tests.running_app import post_callback, press_row, request_panels

hire = test_password.hire  # the fixture
BODY = "audit-dialog-body.children"
Hire = Callable[..., Any]


async def open_log(browser: httpx.AsyncClient) -> httpx.Response:
    return await post_callback(browser, "audit-dialog-opened.data", {"url.pathname": "/"}, output=BODY)


async def choose(browser: httpx.AsyncClient, person: str, kind: str) -> httpx.Response:
    values = {"audit-person.value": person, "audit-kind.value": kind}
    return await post_callback(browser, "audit-kind.value", values, output=BODY)


async def show_more(browser: httpx.AsyncClient, number: str) -> httpx.Response:
    return await press_row(
        browser, "audit-more", number, dict.fromkeys(("audit-person.value", "audit-kind.value"), audit.ANY), output=BODY
    )


def list_entries(team: Team, kind: AuditKind) -> list[tuple[str, str, str]]:
    entries = AuditLog(team.app.services.store).list_entries(50, kind=kind)
    return [(each.person, each.about, each.address) for each in entries]


def test_sign_ins_are_written_and_of_wrong_passwords_the_first(hire: Hire) -> None:
    async def story() -> None:
        async with hire(proxy_networks="10.0.3.7/32") as team:
            team.add("ann", Role.ADMIN)
            async with team.stranger(**{"x-forwarded-for": "192.0.2.1"}) as browser:
                await sign_in(browser, "ann")
                for number in range(10):
                    await sign_in(browser, "ann" if number % 2 else "no such name", "a wrong password")
            assert list_entries(team, AuditKind.SIGN_IN) == [("ann", "", "192.0.2.1")]
            refused = list_entries(team, AuditKind.SIGN_IN_REFUSED)
            assert len(refused) == 5
            assert set(refused) == {("", "ann", "192.0.2.1"), ("", "", "192.0.2.1")}

    asyncio.run(story())


def test_admins_read_it_and_to_others_it_is_not_there(hire: Hire) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("ann", Role.ADMIN)
            team.add("bob")
            async with team.browser("ann") as ann, team.browser("bob") as bob, team.stranger() as nobody:
                opened = await open_log(ann)
                assert '{"value":"bob","label":"bob"}' in opened.text.replace(" ", "")
                found = (await choose(ann, "bob", "account")).text
                assert (found.count('"audit-entry"'), "Joined: Member" in found) == (1, True)
                assert "No entries." in (await choose(ann, "bob", "share")).text
                for reply in (await open_log(bob), await choose(bob, audit.ANY, audit.ANY), await show_more(bob, "1")):
                    assert (reply.status_code, reply.text) == (400, "Not found.")
                assert (await nobody.post("/_dash-update-component", json={})).status_code == 401
                assert (await choose(ann, audit.ANY, "unknown")).status_code == 400
                for wrong in ("x", "-1", "9" * 30):
                    assert (await show_more(ann, wrong)).status_code == 400
                for browser, is_there in ((ann, True), (bob, False)):
                    assert (await request_panels(browser)).json()["audit"]["hidden"] != is_there

    asyncio.run(story())


def test_it_is_read_in_portions(hire: Hire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "PORTION_ENTRIES", 2)

    async def story() -> None:
        async with hire() as team:
            team.add("ann", Role.ADMIN)
            for name in ("bob", "cy", "dee"):
                team.add(name)
            async with team.browser("ann") as ann:
                first = (await open_log(ann)).text.replace(" ", "")
                [number] = re.findall(r'"row":"(\d+)"', first)
                second = (await show_more(ann, number)).text
            assert (first.count('"audit-entry"'), second.count('"audit-entry"')) == (2, 2)
            assert json.loads(second)["response"]["audit-dialog-body"]["children"]["__dash_patch_update"]

    asyncio.run(story())


def test_an_export_is_written_also_of_who_only_reads_and_who_only_reads_shares_nothing(hire: Hire) -> None:
    async def story() -> None:
        async with hire() as team:
            team.add("cy")
            store: Store = team.app.services.store
            with act_for("cy"):
                thread_id = store.create_thread(title="Talk").id
            team.accounts.change_role("cy", Role.READER)
            async with team.browser("cy") as cy:
                assert (await cy.get(f"/api/threads/{thread_id}/export?format=markdown&redact=x")).status_code == 200
                assert "read-only" in str(sharing.read_refusal(await sharing.make_link(cy, thread_id)))
            assert list_entries(team, AuditKind.EXPORT) == [("cy", "", "10.0.3.7")]
            [entry] = AuditLog(store).list_entries(1, kind=AuditKind.EXPORT)
            assert entry.detail == {"thread": thread_id, "format": "markdown", "redacted": True}
            assert list_entries(team, AuditKind.SHARE) == []
            assert json.dumps(dict(entry.detail))

    asyncio.run(story())
