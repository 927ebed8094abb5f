"""Long requests in the database: any process tells how far they are, and cancels them, for their owner."""

from datetime import timedelta

import pytest

from checkpoints import EVERYBODY, Store, act_for
from checkpoints.storage import schema
from checkpoints.values.progress import Progress
from extensions.fleet.followed_requests import FollowedRequests
from tests.conftest import Clock

PROGRESS = Progress("Importing", 2, 7, "conversations", Progress("Writing", 1, 2, "messages"))


@pytest.fixture
def requests(store: Store) -> FollowedRequests:
    store.database.separate_owners()
    return FollowedRequests(store)


def test_the_progress_is_what_was_noted_until_the_request_ends(requests: FollowedRequests) -> None:
    with act_for("ann", only_reads=True):  # who only reads may export
        assert requests.find_progress("one") is None
        assert not requests.note("one", None)
        assert requests.find_progress("one") is None
        assert not requests.note("one", PROGRESS)
        assert requests.find_progress("one") == PROGRESS
        requests.forget("one")
        assert requests.find_progress("one") is None


def test_its_owner_alone_follows_and_cancels_it(requests: FollowedRequests) -> None:
    with act_for("ann"):
        requests.note("one", PROGRESS)
    with act_for("bob"):
        assert requests.find_progress("one") is None
        requests.cancel("one")
    with act_for("ann"):
        assert not requests.note("one", PROGRESS)
        requests.cancel("one")
        assert requests.note("one", PROGRESS)


def test_a_wish_to_cancel_may_come_before_the_first_note(requests: FollowedRequests) -> None:
    with act_for("ann"):
        requests.cancel("one")
        assert requests.find_progress("one") is None
        assert requests.note("one", PROGRESS)


def test_what_a_process_that_is_gone_left_is_forgotten(requests: FollowedRequests, store: Store, clock: Clock) -> None:
    with act_for("ann"):
        requests.note("one", PROGRESS)
        clock.turn(timedelta(minutes=2))
        assert requests.find_progress("one") is None
        requests.note("two", PROGRESS)
    with act_for(EVERYBODY), store.database.begin_read() as connection:
        assert [row.id for row in connection.execute(schema.long_request.select())] == ["two"]
