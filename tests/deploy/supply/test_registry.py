"""A yanked pin and a known fault fail the check, a newer version is named, and without a network nothing fails."""

from pathlib import Path

import pytest

from deploy.supply import registry
from deploy.supply.pins import Pin
from deploy.supply.registry import MissingPinError, Newer, RegistryError, Yanked, find_faults, find_newer, find_yanked
from tests.fakes.osv import FakeOsv
from tests.fakes.server import silent_port
from tests.wheels import build_registry

pytest.importorskip("uv", reason="requirements-dev.txt installs it")


def pin_clock(version: str) -> list[Pin]:
    return [Pin("clock", version, "", (), ())]


@pytest.fixture(autouse=True)
def serve_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry with four versions of one package, two of them yanked."""
    address = build_registry(
        tmp_path / "simple", "clock", {"1.0": None, "1.1": "it stops at midnight", "1.2": "", "1.3": None}
    )
    monkeypatch.setenv("UV_DEFAULT_INDEX", address)
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")


def test_a_yanked_pin_is_named_with_its_reason() -> None:
    assert find_yanked(pin_clock("1.1")) == (Yanked("clock==1.1", "it stops at midnight"),)
    assert find_yanked(pin_clock("1.2")) == (Yanked("clock==1.2", "no reason is given"),)
    assert find_yanked(pin_clock("1.0")) == ()


def test_a_version_that_the_registry_lost_is_missing() -> None:
    with pytest.raises(MissingPinError, match=r"clock==0\.9"):
        find_yanked(pin_clock("0.9"))


def test_a_newer_version_is_named(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("clock==1.0  # tells the time\n")
    assert find_newer(pin_clock("1.0"), [requirements]) == (Newer("clock", "1.0", "1.3"),)
    assert find_newer(pin_clock("1.3"), [requirements]) == ()


def test_without_a_network_the_check_says_so_and_does_not_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with pytest.raises(RegistryError):
        find_yanked(pin_clock("1.0"))
    assert registry.main() == 0
    assert capsys.readouterr().out == "The package registry cannot be reached: the pins were not compared with it.\n"


def test_a_known_fault_is_named_with_the_version_that_mends_it() -> None:
    with FakeOsv("clock", "GHSA-2222-3333-4444", fixed="1.3") as osv:
        told = find_faults(pin_clock("1.0"), osv.origin)
        assert "clock 1.0 has 1 known vulnerability" in told
        assert "GHSA-2222-3333-4444: It stops at midnight" in told
        assert "Fixed in: 1.3" in told
        assert find_faults(pin_clock("1.3"), osv.origin) == ""


def test_a_pin_of_another_platform_is_looked_up_as_well() -> None:
    pins = [Pin("clock", "1.0", """sys_platform == "win32" and python_full_version < '3.13'""", (), ())]
    with FakeOsv("clock", "GHSA-2222-3333-4444", fixed="1.3") as osv:
        assert "clock 1.0 has 1 known vulnerability" in find_faults(pins, osv.origin)


def test_where_known_faults_cannot_be_looked_up_the_check_says_so_and_does_not_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "find_yanked", lambda pins: ())
    monkeypatch.setattr(registry, "find_newer", lambda *given: ())
    monkeypatch.setattr(registry, "read_pins", lambda path: tuple(pin_clock("1.0")))
    with silent_port() as port:
        monkeypatch.setattr(registry, "FAULTS_ADDRESS", f"http://127.0.0.1:{port}")
        assert registry.main() == 0
    assert capsys.readouterr().out == "The list of known faults cannot be reached: the pins were not looked up in it.\n"


@pytest.mark.parametrize(
    ("yanked", "fault", "code"),
    [((), "", 0), ((Yanked("clock==1.1", "it stops"),), "", 1), ((), "clock 1.1 has 1 known vulnerability", 1)],
)
def test_only_a_yanked_pin_or_a_known_fault_fails(
    yanked: tuple[Yanked, ...], fault: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "find_yanked", lambda pins: yanked)
    monkeypatch.setattr(registry, "find_newer", lambda *given: (Newer("clock", "1.0", "1.3"),))
    monkeypatch.setattr(registry, "find_faults", lambda *given: fault)
    assert registry.main() == code
    printed = capsys.readouterr().out
    assert "Newer versions: clock 1.0 → 1.3" in printed
    assert ("Yanked: clock==1.1 (it stops)" in printed) is bool(yanked)
    assert fault in printed
