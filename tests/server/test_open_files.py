"""The files that a server may have open: as many as the system allows, and some are kept for what is no connection."""

import resource

import pytest

from server.serving import MAX_OPEN_FILES, RESERVED_FILES, count_allowed_connections, raise_file_limit

ENDLESS = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ((1_024, 524_288), MAX_OPEN_FILES),
        ((1_024, 4_096), 4_096),
        ((256, ENDLESS), MAX_OPEN_FILES),
        ((MAX_OPEN_FILES, MAX_OPEN_FILES), None),
        ((20_000, 20_000), None),
        ((ENDLESS, ENDLESS), None),
    ],
)
def test_as_many_files_as_the_system_allows_may_be_open(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], wanted: int | None
) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: given.append(new))
    assert raise_file_limit() == (wanted or MAX_OPEN_FILES)
    assert given == ([(wanted, limits[1])] if wanted else [])


def test_a_system_that_refuses_keeps_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, ENDLESS))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_file_limit() == 256


@pytest.mark.parametrize("files", [64, 256, 1_024, MAX_OPEN_FILES])
def test_connections_leave_room_for_the_database(files: int) -> None:
    assert files - count_allowed_connections(files) >= min(RESERVED_FILES, files // 2)
