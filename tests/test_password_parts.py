"""The parts of the sign-in with a password: limits of tries, addresses behind proxies, hashes, and links by command."""

import asyncio
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher

import entering
from checkpoints import Database, Store
from checkpoints.accounts import Accounts, Role
from command_line import parse_arguments
from config import Settings
from people import passwords, tries
from people.passwords import Passwords, TooBusyError
from people.tries import Allowance, Counter, TryLimits
from server.client_address import read_client_address

CHEAP = partial(PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
NAME, ADDRESS = Counter(Allowance(2, 64), ("name", "bob")), Counter(Allowance(3, 10), ("address", "10.0.0.1"))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_tries_end_and_come_back_with_time(clock: Clock) -> None:
    limits = TryLimits(clock)
    assert [limits.take([NAME]) for _ in range(3)] == [0, 0, 64]
    clock.now = 63
    assert limits.take([NAME]) == 1
    clock.now = 64
    assert [limits.take([NAME]) for _ in range(2)] == [0, 64]


def test_a_refused_try_costs_no_other_counter_and_a_right_one_none_at_all(clock: Clock) -> None:
    limits = TryLimits(clock)
    for _ in range(10):
        assert limits.take([NAME, ADDRESS]) == 0
        limits.give_back([NAME, ADDRESS])
    assert [limits.take([NAME, ADDRESS]) for _ in range(4)] == [0, 0, 64, 64]
    assert [limits.take([ADDRESS]) for _ in range(2)] == [0, 10]
    limits.give_back([ADDRESS])
    limits.give_back([ADDRESS])
    assert limits.take([ADDRESS]) == 0


def test_many_counters_take_little_memory(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "MAX_BUCKETS", 10)
    limits = TryLimits(clock)
    for number in range(50):
        limits.take([Counter(NAME.allowance, (str(number),))])
        assert len(limits._buckets) <= 10
    assert limits.take([Counter(NAME.allowance, ("49",))]) == 0
    assert limits.take([Counter(NAME.allowance, ("49",))]) == 64


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


def test_a_link_is_made_on_the_command_line_also_beside_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(auth="password", data_dir=tmp_path, public_url="https://waymark.example")
    serving = Database.open_url(settings.connection_url)
    accounts = Accounts(Store(serving))
    assert entering.print_invitation(parse_arguments(["invite", "--role", "admin"]), settings) == 0
    link = capsys.readouterr().out.strip()
    assert link.startswith("https://waymark.example/join?token=")
    accounts.accept_invitation(link.partition("token=")[2], "ann", "hash")
    assert [(each.name, each.role) for each in accounts.list_accounts()] == [("ann", Role.ADMIN)]
    assert entering.print_invitation(parse_arguments(["invite", "ann", "--days", "1"]), settings) == 0
    assert [each.person for each in accounts.list_invitations()] == ["ann"]
    for arguments, sentence in (
        (["bob"], "There is nobody with the name bob."),
        (["--days", "0"], "A link works for 1 to 90"),
    ):
        assert entering.print_invitation(parse_arguments(["invite", *arguments]), settings) == 2
        assert capsys.readouterr().err.startswith(sentence)
    assert entering.print_invitation(parse_arguments(["invite"]), Settings(data_dir=tmp_path)) == 2
    serving.close()
