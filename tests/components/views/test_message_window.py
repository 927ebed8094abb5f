"""Which messages the page holds: the newest, or those around a place; never a tool's result without what asked for it."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints import MessageNotFoundError, NewMessage, Store
from checkpoints.values import serde
from checkpoints.values.limits import MAX_READ_VALUES
from components.views import message_window
from components.views.message_window import MAX_JOINED_MESSAGES, WINDOW_MESSAGES, MessageWindow
from tests.checkpoints.conversations import new
from tests.rounds import sample

LONG = 600


@pytest.fixture
def thread_id(store: Store) -> str:
    """A conversation of 600 messages."""
    thread_id = store.create_thread().id
    store.append(thread_id, new(*map(str, range(LONG))))
    return thread_id


def depths(store: Store, thread_id: str, held: MessageWindow) -> tuple[int, int, bool, bool]:
    """The first and the last message of a stretch, and whether there are earlier and later ones."""
    path, earlier, later = message_window.read_window(store, thread_id, held)
    assert [message.depth for message in path] == list(range(path[0].depth, path[-1].depth + 1))
    return path[0].depth, path[-1].depth, earlier, later


def test_at_first_the_newest_are_held_and_earlier_ones_come(store: Store, thread_id: str) -> None:
    held = message_window.resolve_window({"thread": "another", "count": 500, "until": 3}, thread_id)
    assert depths(store, thread_id, held) == (LONG - WINDOW_MESSAGES, LONG - 1, True, False)
    held = message_window.move_window(store, thread_id, held, {"type": "earlier"})
    assert depths(store, thread_id, held) == (LONG - 2 * WINDOW_MESSAGES, LONG - 1, True, False)
    assert depths(store, thread_id, {**held, "count": LONG}) == (0, LONG - 1, False, False)


def test_a_place_far_from_the_end_is_held_with_what_is_around_it(store: Store, thread_id: str) -> None:
    place = store.list_messages(thread_id)[100].id
    held = message_window.move_window(
        store, thread_id, {"thread": thread_id, "count": 500}, {"type": "show", "message": place}
    )
    assert depths(store, thread_id, held) == (75, 124, True, True)
    assert depths(store, thread_id, message_window.move_window(store, thread_id, held, {"type": "earlier"})) == (
        25,
        124,
        True,
        True,
    )
    assert depths(store, thread_id, message_window.move_window(store, thread_id, held, {"type": "later"})) == (
        75,
        174,
        True,
        True,
    )
    latest = message_window.move_window(store, thread_id, held, {"type": "latest"})
    assert depths(store, thread_id, latest) == (LONG - WINDOW_MESSAGES, LONG - 1, True, False)


def test_a_stretch_that_reached_the_end_grows_with_the_conversation(store: Store, thread_id: str) -> None:
    held: MessageWindow = {"thread": thread_id, "count": WINDOW_MESSAGES, "until": LONG - 20}
    held = message_window.move_window(store, thread_id, held, {"type": "later"})
    store.append(thread_id, new("more"))
    assert depths(store, thread_id, held)[1:] == (LONG, True, False)


def test_a_place_near_the_end_is_joined_to_it(store: Store, thread_id: str) -> None:
    place = store.list_messages(thread_id)[LONG - MAX_JOINED_MESSAGES].id
    assert depths(store, thread_id, message_window.window_around(store, thread_id, place)) == (
        LONG - MAX_JOINED_MESSAGES - 25,
        LONG - 1,
        True,
        False,
    )


def test_a_tools_result_is_not_parted_from_what_asked_for_it(store: Store) -> None:
    call = AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": str(n)} for n in range(3)])
    turn = [HumanMessage("q"), call, *(ToolMessage("r", tool_call_id=str(n)) for n in range(3)), AIMessage("a")]
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(serde.to_body(message)) for message in turn * 10])
    for until in range(10, 30):
        path, _, later = message_window.read_window(store, thread_id, {"thread": thread_id, "count": 5, "until": until})
        following = store.list_messages(thread_id)[path[-1].depth + 1]
        assert (path[0].type != "tool", following.type != "tool", later) == (True, True, True)


def test_what_is_not_there_cannot_be_shown(store: Store, thread_id: str) -> None:
    with pytest.raises(MessageNotFoundError):
        message_window.move_window(
            store, thread_id, {"thread": thread_id, "count": 50}, {"type": "show", "message": "nowhere"}
        )
    empty = store.create_thread().id
    assert message_window.read_window(store, empty, message_window.resolve_window(None, empty)) == ([], False, False)


def test_the_work_of_agents_is_not_parted_from_what_asked_for_it(store: Store) -> None:
    thread_id = store.create_thread().id
    call = AIMessage("", tool_calls=[{"name": "ask_agent", "args": {}, "id": "1"}])
    work = [NewMessage(serde.to_body(HumanMessage(str(number))), agent="ann") for number in range(150)]
    result = NewMessage(serde.to_body(ToolMessage("done", tool_call_id="1")))
    store.append(thread_id, [*new(*map(str, range(20))), NewMessage(serde.to_body(call)), *work, result, *new("more", "so")])
    assert depths(store, thread_id, {"thread": thread_id, "count": WINDOW_MESSAGES}) == (20, 173, True, False)
    assert depths(store, thread_id, {"thread": thread_id, "count": 5, "until": 22}) == (20, 171, True, True)


@pytest.fixture
def heavy_id(memory_store: Store) -> str:
    """A conversation of messages of which four have as many values as a portion."""
    thread_id = memory_store.create_thread().id
    row = HumanMessage("x", additional_kwargs={"row": [0] * (MAX_READ_VALUES // 4 - 10)})
    memory_store.append(thread_id, [NewMessage(serde.to_body(row))] * 60)
    return thread_id


def test_a_portion_ends_with_its_values(memory_store: Store, heavy_id: str) -> None:
    held = message_window.resolve_window(None, heavy_id)
    assert depths(memory_store, heavy_id, held) == (56, 59, True, False)
    held = message_window.move_window(memory_store, heavy_id, held, {"type": "earlier"})
    assert depths(memory_store, heavy_id, held) == (52, 59, True, False)


@pytest.mark.parametrize("place", sample([0, 1, 20, 57, 59], 3))
def test_a_message_is_shown_among_others_of_many_values(memory_store: Store, heavy_id: str, place: int) -> None:
    message = memory_store.list_messages(heavy_id)[place]
    held = message_window.move_window(
        memory_store, heavy_id, {"thread": heavy_id, "count": 50}, {"type": "show", "message": message.id}
    )
    for window in (held, message_window.extend_window(memory_store, heavy_id, message.id, held)):
        first, last, earlier, later = depths(memory_store, heavy_id, window)
        assert first <= place <= last
        assert (earlier, later) == (first > 0, last < 59)
    following = message_window.move_window(memory_store, heavy_id, held, {"type": "later"})
    first, new_last, *_ = depths(memory_store, heavy_id, following)
    assert (first <= last + 1, new_last >= min(last + 1, 59)) == (True, True)  # none is skipped


def test_a_window_of_many_values_begins_with_no_result(memory_store: Store) -> None:
    thread_id = memory_store.create_thread().id
    row = {"row": [0] * (MAX_READ_VALUES // 3)}
    call = {"name": "look", "args": {}, "id": "a"}
    result = ToolMessage("sunny", tool_call_id="a", additional_kwargs=row)
    turn = [AIMessage("", tool_calls=[call], additional_kwargs=row), result, AIMessage("Sunny.", additional_kwargs=row)]
    memory_store.append(thread_id, [NewMessage(serde.to_body(message)) for message in (*turn, *turn)])
    assert depths(memory_store, thread_id, message_window.resolve_window(None, thread_id)) == (5, 5, True, False)
