"""What a running Waymark writes to the audit log, and who reads it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from checkpoints import Store, act_for
from checkpoints.people.account_rows import Role
from checkpoints.people.audit_log import AuditLog
from checkpoints.values.audit_entry import AuditKind
from tests import test_password
from tests.running_app import request_panels
from tests.test_password import Team, sign_in

hire = test_password.hire  # the fixture
Hire = Callable[..., Any]


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
                found = (await ann.get("/api/audit?person=bob&kind=account")).json()
                assert [(each["who"], each["text"]) for each in found["entries"]] == [("bob", "Joined: Member")]
                assert {"value": "bob", "label": "bob"} in found["people"]
                assert (await bob.get("/api/audit")).status_code == 404
                assert (await nobody.get("/api/audit")).status_code == 401
                for wrong in ("kind=unknown", "before=x", "before=-1", f"before={'9' * 30}"):
                    assert (await ann.get(f"/api/audit?{wrong}")).status_code == 400
                for browser, is_there in ((ann, True), (bob, False)):
                    assert (await request_panels(browser)).json()["audit"]["hidden"] != is_there

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
                reply = await cy.post(f"/api/threads/{thread_id}/shares", json={"days": 1})
                assert reply.status_code == 403
            assert list_entries(team, AuditKind.EXPORT) == [("cy", "", "10.0.3.7")]
            [entry] = AuditLog(store).list_entries(1, kind=AuditKind.EXPORT)
            assert entry.detail == {"thread": thread_id, "format": "markdown", "redacted": True}
            assert list_entries(team, AuditKind.SHARE) == []
            assert json.dumps(dict(entry.detail))

    asyncio.run(story())
