"""The parts of the sign-in with a password: limits of tries, addresses behind proxies, hashes, and links by command."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal

import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher, extract_parameters

from application.commands.arguments import parse_arguments
from application.settings import Settings
from checkpoints import EVERYBODY, Database, Store, act_for
from checkpoints.rows.account_rows import Role
from checkpoints.storage import schema
from extensions.people import passwords
from extensions.people.accounts import Accounts
from extensions.people.commands import COMMANDS, print_invitation
from extensions.people.passwords import Passwords, TooBusyError
from extensions.people.sign_in_counters import SignInCounters
from extensions.people.sign_in_limits import Allowance, Counter, SignInLimits
from server.client_address import read_client_address
from tests.conftest import Clock

CHEAP = partial(PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
NAME, ADDRESS = Counter(Allowance(2, 64), ("name", "bob")), Counter(Allowance(3, 10), ("address", "10.0.0.1"))


@pytest.fixture
def limits(store: Store, clock: Clock) -> SignInLimits:
    return SignInLimits(SignInCounters(store, clock))


def test_tries_end_and_come_back_with_time(limits: SignInLimits, clock: Clock) -> None:
    assert [limits.take([NAME]) for _ in range(3)] == [0, 0, 64]
    clock.turn(timedelta(seconds=63))
    assert limits.take([NAME]) == 1
    clock.turn(timedelta(seconds=1))
    assert [limits.take([NAME]) for _ in range(2)] == [0, 64]


def test_a_refused_try_costs_no_other_counter_and_a_right_one_none_at_all(limits: SignInLimits) -> None:
    for _ in range(10):
        assert limits.take([NAME, ADDRESS]) == 0
        limits.give_back([NAME, ADDRESS])
    assert [limits.take([NAME, ADDRESS]) for _ in range(4)] == [0, 0, 64, 64]
    assert [limits.take([ADDRESS]) for _ in range(2)] == [0, 10]
    limits.give_back([ADDRESS])
    limits.give_back([ADDRESS])
    assert limits.take([ADDRESS]) == 0


def test_a_counter_that_is_clear_leaves_nothing_and_none_tells_a_name(
    limits: SignInLimits, store: Store, clock: Clock
) -> None:
    for number in range(50):
        limits.take([Counter(NAME.allowance, ("name", f"bob {number}"))])
        clock.turn(timedelta(seconds=32))
    with act_for(EVERYBODY), store.database.begin_read() as connection:
        rows = connection.execute(sa.select(schema.sign_in_counter)).all()
    assert len(rows) <= 3
    assert not any("bob" in row.key_hash for row in rows)


def test_processes_whose_clocks_differ_admit_no_more_tries(store: Store, clock: Clock) -> None:
    ahead = SignInLimits(SignInCounters(store, lambda: clock() + timedelta(seconds=50)))
    behind = SignInLimits(SignInCounters(store, clock))
    assert [each.take([NAME]) == 0 for each in (behind, ahead) * 5].count(True) == 2


@pytest.mark.parametrize("hours", [1, -1])
def test_a_machine_whose_clock_is_wrong_locks_nobody_out_of_the_others(postgres_store: Store, hours: int) -> None:
    wrong_clock = lambda: datetime.now(UTC) + timedelta(hours=hours)  # noqa: E731
    wrong = SignInLimits(SignInCounters(Store(postgres_store.database, now=wrong_clock)))
    right = SignInLimits(SignInCounters(Store(postgres_store.database)))
    assert wrong.take([NAME]) == right.take([NAME]) == 0
    assert 0 < right.take([NAME]) <= NAME.allowance.seconds_per_try
    assert 0 < wrong.take([NAME]) <= NAME.allowance.seconds_per_try


PROXIES = [ip_network("10.0.3.0/24"), ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("client", "forwarded", "address"),
    [
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),  # no proxy of ours: its word counts nothing
        ("10.0.3.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.3.1", "6.6.6.6, 198.51.100.1", "198.51.100.1"),  # what a client claims comes first
        ("10.0.3.1", "198.51.100.1, 10.0.3.2", "198.51.100.1"),
        ("10.0.3.1", "198.51.100.1, unknown", "10.0.3.1"),
        ("10.0.3.1", "", "10.0.3.1"),
        ("::ffff:10.0.3.1", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fd00::1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("", "198.51.100.1", "None"),
    ],
)
def test_tries_are_counted_by_the_last_address_that_can_be_trusted(client: str, forwarded: str, address: str) -> None:
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope: Any = {"type": "http", "headers": headers, "client": (client, 1)}
    assert read_client_address(scope, PROXIES) == address


def test_hashes_fit_one_password_and_grow_stronger(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        weak, strong = Passwords(CHEAP()), Passwords(CHEAP(time_cost=2))
        stored = await weak.hash("a")
        assert [await weak.verify(stored, each) for each in ("a", "b", "a" * 501, "")] == [True, False, False, False]
        assert [await weak.verify(each, "a") for each in (None, "", "no hash")] == [False] * 3
        assert (weak.is_outdated(stored), strong.is_outdated(stored)) == (False, True)
        monkeypatch.setattr(passwords, "MAX_WAITING", 1)
        results = await asyncio.gather(*(weak.verify(stored, "a") for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in results] == [bool, TooBusyError, TooBusyError]
        for each in (weak, strong):
            each.close()

    asyncio.run(story())


class WatchedHasher(PasswordHasher):
    """Counts how many passwords it checks at once, and with how many threads a new hash is made."""

    at_work, most = 0, 0

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        type(self).at_work += 1
        type(self).most = max(self.most, self.at_work)
        try:
            return super().verify(hash, password)
        finally:
            type(self).at_work -= 1


def test_many_wrong_passwords_at_once_take_one_thread_and_the_memory_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "PasswordHasher", partial(WatchedHasher, time_cost=4, memory_cost=8_000))

    async def check() -> None:
        checker = Passwords()
        stored = await checker.hash("four plain words in a row")
        assert not any(await asyncio.gather(*(checker.verify(stored, "wrong") for _ in range(40))))
        assert extract_parameters(stored).parallelism == 1
        checker.close()

    asyncio.run(check())
    assert WatchedHasher.most == 1


def test_a_link_is_made_on_the_command_line_also_beside_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(auth="password", data_dir=tmp_path, public_url="https://waymark.example")
    serving = Database.open_url(settings.connection_url)
    accounts = Accounts(Store(serving))
    assert print_invitation(parse_arguments(["invite", "--role", "admin"], COMMANDS), settings) == 0
    link = capsys.readouterr().out.strip()
    assert link.startswith("https://waymark.example/join?token=")
    accounts.accept_invitation(link.partition("token=")[2], "ann", "hash")
    assert [(each.name, each.role) for each in accounts.list_accounts()] == [("ann", Role.ADMIN)]
    assert print_invitation(parse_arguments(["invite", "ann", "--days", "1"], COMMANDS), settings) == 0
    assert [each.person for each in accounts.list_invitations()] == ["ann"]
    for arguments, sentence in (
        (["bob"], "There is nobody with the name bob."),
        (["--days", "0"], "A link works for 1 to 90"),
    ):
        assert print_invitation(parse_arguments(["invite", *arguments], COMMANDS), settings) == 2
        assert capsys.readouterr().err.startswith(sentence)
    assert print_invitation(parse_arguments(["invite"], COMMANDS), Settings(data_dir=tmp_path)) == 2
    serving.close()
