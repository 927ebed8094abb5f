"""A yanked pin fails the check, a newer version is named, and without a network nothing fails."""

from pathlib import Path

import pytest

from supply import registry
from supply.pins import Pin
from supply.registry import MissingPinError, Newer, RegistryError, Yanked, find_newer, find_yanked
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


@pytest.mark.parametrize(("yanked", "code"), [((), 0), ((Yanked("clock==1.1", "it stops"),), 1)])
def test_only_a_yanked_pin_fails(
    yanked: tuple[Yanked, ...], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "find_yanked", lambda pins: yanked)
    monkeypatch.setattr(registry, "find_newer", lambda *given: (Newer("clock", "1.0", "1.3"),))
    assert registry.main() == code
    printed = capsys.readouterr().out
    assert "Newer versions: clock 1.0 → 1.3" in printed
    assert ("Yanked: clock==1.1 (it stops)" in printed) is bool(yanked)
