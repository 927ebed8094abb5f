"""The line under the field: whose limits are nearly reached."""

from datetime import timedelta

from checkpoints import Store, act_for
from checkpoints.people.members import Members
from checkpoints.person_limits import PersonLimits
from checkpoints.values.model import ThreadRole
from components.views.limit_notice import describe_limits
from tests.checkpoints.conversations import new
from tests.conftest import Clock

THEIRS = "Little room is left to ann, who owns this conversation."


def test_a_member_hears_that_the_room_of_the_owner_is_nearly_used(memory_store: Store, clock: Clock) -> None:
    store = memory_store
    store.database.separate_owners()
    store.meter.limits = PersonLimits(storage_bytes=1_000_000)
    with act_for("ann"):
        shared, full = (store.create_thread() for _ in range(2))
        Members(store).add_member(shared.id, "bob", ThreadRole.EDITOR)
    with act_for("bob"):
        assert describe_limits(store, shared) is None
    with act_for("ann"):
        store.append(full.id, new("x" * 900_000))
        clock.turn(timedelta(minutes=1))  # for which it counts as it was measured
        assert describe_limits(store, shared) == "90 % of the room for your conversations is used."
    with act_for("bob"):
        assert describe_limits(store, shared) == THEIRS  # and not how much
        assert describe_limits(store, store.create_thread()) is None
