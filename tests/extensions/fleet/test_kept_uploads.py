"""Uploads in the database: each owner finds their own, for a while and within a budget."""

from datetime import timedelta

import pytest

from checkpoints import Store, act_for
from extensions.fleet.kept_uploads import KeptUploads
from tests.conftest import Clock


@pytest.fixture
def uploads(store: Store) -> KeptUploads:
    store.database.separate_owners()
    return KeptUploads(store, max_bytes=100, max_count=4, max_seconds=600)


def test_an_upload_is_found_and_dropped_by_its_owner_alone(uploads: KeptUploads) -> None:
    with act_for("ann"):
        uploads.keep("one", b"\0heron\xff")
    with act_for("bob"):
        assert uploads.find("one") is None
        uploads.forget("one")
    with act_for("ann"):
        assert uploads.find("one") == b"\0heron\xff"
        uploads.forget("one")
        assert uploads.find("one") is None


def test_the_oldest_of_who_keeps_most_give_way_and_all_end_with_their_time(uploads: KeptUploads, clock: Clock) -> None:
    def list_kept() -> list[str]:
        kept = []
        for number in range(9):
            for owner in ("ann", "bob"):
                with act_for(owner):
                    kept += [str(number)] if uploads.find(str(number)) is not None else []
        return kept

    for number, size in enumerate((40, 40, 40)):
        clock.turn(timedelta(seconds=1))
        with act_for("bob" if number else "ann"):
            uploads.keep(str(number), bytes(size))
    assert list_kept() == ["0", "2"]
    for number in range(3, 8):
        clock.turn(timedelta(seconds=1))
        with act_for("ann"):
            uploads.keep(str(number), b"")
    assert list_kept() == ["2", "5", "6", "7"]
    clock.turn(timedelta(seconds=600))
    assert list_kept() == []
