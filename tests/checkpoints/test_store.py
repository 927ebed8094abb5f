"""The store under races, repeats and a clock that is stepped, in memory, in a file and on PostgreSQL."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage, ToolMessage

from checkpoints import (
    BranchNotFoundError,
    Caller,
    CheckpointNotFoundError,
    ConflictError,
    MessageNotFoundError,
    NewMessage,
    Receipt,
    RequestReusedError,
    RunActiveError,
    Runs,
    Store,
    ThreadNotFoundError,
)
from checkpoints.interchange import reading, transfer
from checkpoints.storage import ranges, schema
from checkpoints.values import serde
from tests.checkpoints.conversations import count, dump, names, new, picture, talked, texts
from tests.conftest import Clock

Verb = Callable[[Store, str, Caller], object]

VERBS: dict[str, Verb] = {
    "append": lambda s, t, by: s.append(t, new("e"), caller=by),
    "edit": lambda s, t, by: s.append(t, new("e"), after=None, caller=by),
    "save": lambda s, t, by: s.save(t, caller=by),
    "save of a state": lambda s, t, by: s.save(t, keep=1, new=new("e"), caller=by),
    "restore": lambda s, t, by: s.restore(t, s.list_all_checkpoints(t)[0].id, keep_future=True, caller=by),
    "switch": lambda s, t, by: s.switch(t, s.get_thread(t).branch_id, caller=by),
    "delete_checkpoint": lambda s, t, by: s.delete_checkpoint(t, s.list_all_checkpoints(t)[-1].id, caller=by),
    "clear_checkpoints": lambda s, t, by: s.clear_checkpoints(t, caller=by),
    "clear": lambda s, t, by: s.clear(t, caller=by),
    "rename_thread": lambda s, t, by: s.rename_thread(t, "Other", caller=by),
    "delete_thread": lambda s, t, by: s.delete_thread(t, caller=by),
    "undo": lambda s, t, by: s.undo(t, caller=by),
    "redo": lambda s, t, by: s.redo(t, caller=by),
    "import_into": lambda s, t, by: s.import_into(t, transfer.make_replacement(reading.read_document(OLDER)), caller=by),
}
OLDER = (
    '{"checkpoints": {"c1": {"id": "c1", "name": "one", "timestamp": "2024-05-01T10:00:00", "message_count": 1, '
    '"state": {"messages": [{"type": "HumanMessage", "content": "older"}]}}}, "order": ["c1"]}'
)


@pytest.fixture
def thread_id(store: Store) -> str:
    """Two turns and two checkpoints, the second operation taken back: everything can be done to it."""
    made = talked(store, "a", "b", "c", "d")
    store.rename_thread(made, "Renamed")
    store.undo(made)
    return made


@pytest.mark.parametrize("verb", VERBS)
def test_of_two_callers_at_the_same_version_one_wins(store: Store, thread_id: str, verb: str) -> None:
    seen = store.get_thread(thread_id).version
    VERBS["append"](store, thread_id, Caller(expected_version=seen))
    before = dump(store)
    with pytest.raises(ConflictError) as caught:
        VERBS[verb](store, thread_id, Caller(expected_version=seen))
    assert (caught.value.expected, caught.value.actual) == (seen, seen + 1)
    assert dump(store) == before


def test_a_name_given_meanwhile_is_no_conflict(store: Store, thread_id: str) -> None:
    seen = store.get_thread(thread_id).version
    store.save(thread_id, name="Meanwhile")
    store.rename_thread(thread_id, "Another title")
    assert VERBS["append"](store, thread_id, Caller(expected_version=seen)).version == seen + 3


@pytest.mark.parametrize("verb", ["undo", "redo"])
def test_nothing_is_taken_back_that_the_caller_has_not_seen(store: Store, thread_id: str, verb: str) -> None:
    seen = store.get_thread(thread_id).version
    VERBS["save" if verb == "undo" else "undo"](store, thread_id, Caller(expected_version=seen))
    before = dump(store)
    with pytest.raises(ConflictError):
        VERBS[verb](store, thread_id, Caller(expected_version=seen))
    assert dump(store) == before


def test_a_version_that_nobody_can_have_seen_is_a_conflict(store: Store, thread_id: str) -> None:
    with pytest.raises(ConflictError):
        VERBS["append"](store, thread_id, Caller(expected_version=store.get_thread(thread_id).version + 1))


@pytest.mark.parametrize("verb", VERBS)
def test_the_same_request_twice_has_one_effect(store: Store, thread_id: str, verb: str) -> None:
    by = Caller(request_id="wish-1")
    first = VERBS[verb](store, thread_id, by)
    before = dump(store)
    again = VERBS[verb](store, thread_id, by)
    assert (first.repeated, again.repeated) == (False, True)
    assert (again.version, again.result) == (first.version, first.result)
    assert dump(store) == before


@pytest.mark.parametrize("verb", ["append", "replace"])
def test_the_same_request_with_another_text_is_a_conflict_that_is_told(store: Store, verb: str) -> None:
    thread_id, by = talked(store, "a", "b"), Caller(request_id="wish-1")
    first = store.list_messages(thread_id)[0].id
    write: dict[str, Callable[[str], Receipt]] = {
        "append": lambda text: store.append(thread_id, new(text), caller=by),
        "replace": lambda text: store.replace(thread_id, first, new(text)[0], caller=by),
    }
    write[verb]("once")
    before = dump(store)
    with pytest.raises(RequestReusedError, match="This request was already used for another change"):
        write[verb]("twice")
    assert write[verb]("once").repeated
    assert dump(store) == before


def test_an_id_that_is_no_text_is_not_found(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    for unknown in ("\ud800", "a\udfffb", "\0"):
        assert not store.thread_exists(unknown)
        with pytest.raises(ThreadNotFoundError):
            store.append(unknown, new("c"))
        with pytest.raises(CheckpointNotFoundError):
            store.restore(thread_id, unknown)
        with pytest.raises(MessageNotFoundError):
            store.fork(thread_id, unknown)
        assert store.read_files([unknown]) == {}
    assert store.database.outage == ""


def test_the_same_request_means_nothing_to_another_conversation(store: Store, thread_id: str) -> None:
    store.rename_thread(thread_id, "One", caller=Caller(request_id="wish-1"))
    other = store.create_thread().id
    assert store.rename_thread(other, "Two", caller=Caller(request_id="wish-1")).repeated is False


@pytest.mark.parametrize(
    "verb", ["append", "edit", "restore", "switch", "clear", "delete_thread", "undo", "redo", "import_into"]
)
def test_a_run_locks_what_would_move_the_head(store: Store, thread_id: str, verb: str) -> None:
    run = Runs(store).begin_run(thread_id, None)
    before = dump(store)
    with pytest.raises(RunActiveError):
        VERBS[verb](store, thread_id, Caller())
    assert dump(store) == before
    VERBS[verb](store, thread_id, Caller(undo_group=run.id))


@pytest.mark.parametrize("verb", ["save", "delete_checkpoint", "clear_checkpoints", "rename_thread"])
def test_a_run_lets_the_user_keep_the_list(store: Store, thread_id: str, verb: str) -> None:
    Runs(store).begin_run(thread_id, None)
    VERBS[verb](store, thread_id, Caller())
    assert store.get_last_operation(thread_id).actor == "user"


def test_racing_threads_lose_no_message_and_invent_none(store: Store) -> None:
    thread_id = store.create_thread().id
    accepted: list[str] = []
    refused: list[str] = []
    start = threading.Barrier(2)

    def work(name: str) -> None:
        start.wait()
        for number in range(40):
            text = f"{name}{number}"
            try:
                store.append(thread_id, new(text), caller=Caller(expected_version=store.get_thread(thread_id).version))
                accepted.append(text)
            except ConflictError:
                refused.append(text)

    workers = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(texts(store, thread_id)) == sorted(accepted)
    assert (len(accepted) + len(refused), store.get_thread(thread_id).version) == (80, len(accepted))


def test_of_two_threads_that_saw_the_same_exactly_one_writes(store: Store) -> None:
    thread_id = store.create_thread().id
    outcomes: list[str] = []
    for version in range(10):
        start = threading.Barrier(2)

        def work(start: threading.Barrier = start, version: int = version) -> None:
            start.wait()
            try:
                store.append(thread_id, new("x"), caller=Caller(expected_version=version))
                outcomes.append("written")
            except ConflictError:
                outcomes.append("refused")

        workers = [threading.Thread(target=work) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert (outcomes.count("written"), outcomes.count("refused")) == (10, 10)
    assert len(texts(store, thread_id)) == 10


def test_a_change_that_fails_half_way_leaves_nothing(store: Store, thread_id: str) -> None:
    before = dump(store)
    with pytest.raises(MessageNotFoundError):
        store.append(thread_id, new("e"), after="nothing", title="x")
    with pytest.raises(BranchNotFoundError):
        store.switch(thread_id, "nothing")
    with pytest.raises(sa.exc.IntegrityError):
        store.append(thread_id, [*new("e"), *_with_id(store.list_messages(thread_id)[0].id)])
    assert dump(store) == before


def _with_id(identifier: str) -> list[object]:
    [message] = new("f")
    return [type(message)(body=message.body, id=identifier)]


def test_a_message_of_another_conversation_is_no_place_to_write(store: Store, thread_id: str) -> None:
    other = talked(store, "x", "y")
    with pytest.raises(MessageNotFoundError):
        store.append(thread_id, new("e"), after=store.list_messages(other)[0].id)
    with pytest.raises(BranchNotFoundError):
        store.switch(thread_id, store.get_thread(other).branch_id)
    with pytest.raises(ThreadNotFoundError, match="no conversation 'nothing'"):
        store.append("nothing", new("e"))


def test_one_owner_does_not_see_the_threads_of_another(store: Store) -> None:
    mine, theirs = store.create_thread(owner="me").id, store.create_thread(owner="them").id
    assert ([t.id for t in store.list_threads("me")], [t.id for t in store.list_threads("them")]) == ([mine], [theirs])


def test_a_clock_that_steps_back_changes_no_order(store: Store, clock: Clock) -> None:
    thread_id = store.create_thread().id
    for index, text in enumerate("abcd"):
        clock.turn(-timedelta(days=365))
        store.append(thread_id, new(text))
        store.save(thread_id, name=text, caller=Caller(actor="agent"))
        assert store.get_thread(thread_id).version == 2 * index + 2
    assert (texts(store, thread_id), names(store, thread_id)) == (list("abcd"), list("abcd"))
    store.undo(thread_id)
    assert (texts(store, thread_id), names(store, thread_id)) == (list("abcd"), list("abc"))
    store.restore(thread_id, store.list_checkpoints(thread_id)[1].id)
    assert names(store, thread_id) == ["a", "b"]


def test_times_are_exact_to_the_microsecond(store: Store, clock: Clock) -> None:
    for _ in range(50):
        clock.turn(timedelta(days=11, microseconds=333_333))
        assert store.create_thread().created_at == clock.time


def test_a_window_of_the_conversation_is_a_part_of_the_whole(store: Store) -> None:
    thread_id = talked(store, *"abcdefgh")
    store.append(thread_id, new("x", "y"), after=store.list_messages(thread_id)[4].id)
    whole = texts(store, thread_id)
    assert whole == list("abcdexy")
    for last in range(9):
        for before in range(9):
            part = [m.body["data"]["content"] for m in store.list_messages(thread_id, last=last, before=before)]
            assert part == whole[:before][max(0, len(whole[:before]) - last) :]


def test_every_hash_covers_the_message_and_all_before_it(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c")
    above = None
    for message in store.list_messages(thread_id):
        above = serde.hash_message(message.body, message.agent, message.status, above)
        assert message.hash == above


def test_a_checkpoint_costs_one_row_whatever_the_length(store: Store) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new(*map(str, range(500))))
    before = {table.name: count(store, table) for table in schema.metadata.sorted_tables}
    store.save(thread_id)
    after = {table.name: count(store, table) for table in schema.metadata.sorted_tables}
    assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == {
        "checkpoint": 1,
        "operation": 1,
        "search_entry": 1,
    }


def forked(store: Store, often: int) -> tuple[str, str]:
    """A conversation whose way has that many forks, with a checkpoint before each, and the id of one before all."""
    thread_id = talked(store, "begin")
    first = store.save(thread_id).result
    for number in range(often):
        at = store.append(thread_id, new(f"{number}")).result
        store.save(thread_id)
        store.append(thread_id, new("left"))
        store.append(thread_id, new("instead"), after=at)
    store.append(thread_id, new("end"))
    assert first is not None
    return thread_id, first


def test_checkpoints_are_counted_on_however_many_forks(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "_MAX_RANGES", 7)
    thread_id, first = forked(memory_store, 30)
    told = memory_store.preview_removal(thread_id, first)
    assert (told.messages, told.checkpoints) == (61, 30)


def test_a_restore_takes_as_many_statements_however_often_the_way_forked(memory_store: Store) -> None:
    statements: list[int] = []
    sa.event.listen(memory_store.database.engine, "before_cursor_execute", lambda *_: statements.append(1))
    counted = []
    for forks in (0, 30):
        thread_id, target = forked(memory_store, forks)
        statements.clear()
        memory_store.restore(thread_id, target)
        counted.append(len(statements))
    assert counted == [8, 8]


@pytest.mark.parametrize("name", ["after b", "after d", "before the compaction", "after it"])
def test_what_a_restore_will_take_is_what_it_takes(store: Store, name: str) -> None:
    thread_id = talked(store, *"abcdef")
    store.save(thread_id, name="before the compaction")
    store.save(thread_id, keep=4, new=new("g", "h"), name="after it")
    target = next(c.id for c in store.list_checkpoints(thread_id) if c.name == name)
    told = store.preview_removal(thread_id, target)
    texts_before, names_before = texts(store, thread_id), names(store, thread_id)
    store.restore(thread_id, target)
    gone = [text for text in texts_before if text not in texts(store, thread_id)]
    assert told.messages == len(gone)
    assert told.checkpoints == len(names_before) - len(names(store, thread_id))


def _preview_prompt(store: Store, thread_id: str, name: str) -> str:
    target = next(c.id for c in store.list_checkpoints(thread_id) if c.name == name)
    return store.preview_removal(thread_id, target).first_prompt


def test_a_preview_of_a_restore_carries_the_first_prompt_that_it_removes(memory_store: Store) -> None:
    thread_id = talked(memory_store, *"abcdef")
    assert _preview_prompt(memory_store, thread_id, "after b") == "c"
    assert _preview_prompt(memory_store, thread_id, "after f") == ""


def test_a_prompt_that_a_restored_state_still_contains_is_not_removed(memory_store: Store) -> None:
    thread_id = talked(memory_store, *"abcd")
    memory_store.save(thread_id, name="before the compaction")
    memory_store.save(thread_id, keep=0, new=new("a summary", "d"))
    assert _preview_prompt(memory_store, thread_id, "before the compaction") == ""


def test_the_last_result_of_a_message_is_that_of_its_last_tool_call(memory_store: Store) -> None:
    thread_id = talked(memory_store, "ask")
    calls = [{"name": "add", "args": {}, "id": each} for each in "xy"]
    results = [ToolMessage(each, tool_call_id=each) for each in "xy"]
    bodies = [AIMessage("", tool_calls=calls), *results, AIMessage("done")]
    memory_store.append(thread_id, [NewMessage(serde.to_body(each)) for each in bodies])
    question, calling, _, last, answer = memory_store.list_messages(thread_id)
    assert [memory_store.find_last_result(thread_id, each).id for each in (calling, question, answer)] == [
        last.id,
        question.id,
        answer.id,
    ]


def test_the_last_result_comes_after_the_work_of_a_sub_agent(memory_store: Store) -> None:
    thread_id = talked(memory_store, "ask")
    calling = AIMessage("", tool_calls=[{"name": "ask_agent", "args": {}, "id": "x"}])
    work = [NewMessage(each.body, agent="critic") for each in new(*map(str, range(150)))]
    result, answer = ToolMessage("done", tool_call_id="x"), AIMessage("so")
    messages = [calling, result, answer]
    first, *last = [NewMessage(serde.to_body(each)) for each in messages]
    memory_store.append(thread_id, [first, *work])
    path = memory_store.list_messages(thread_id)
    assert memory_store.find_last_result(thread_id, path[1]).id == path[1].id
    memory_store.append(thread_id, last)
    path = memory_store.list_messages(thread_id)
    assert memory_store.find_last_result(thread_id, path[1]).id == path[-2].id


def test_a_branch_can_be_left_and_found_again(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id, keep_future=True)
    here = picture(store, thread_id)
    (main, short), (kept, long) = store.list_branches(thread_id)
    assert (short, long) == (2, 4)
    store.switch(thread_id, kept.id)
    assert (texts(store, thread_id), names(store, thread_id)) == (list("abcd"), ["after b", "after d"])
    store.switch(thread_id, main.id)
    assert picture(store, thread_id) == here


def test_a_name_that_is_too_long_is_cut_where_it_is_stored(store: Store) -> None:
    thread_id = store.create_thread(title="t" * 600).id
    store.append(thread_id, new("a"))
    made = store.save(thread_id, name="n" * 600, description="d" * 20_000).result
    store.restore(thread_id, made, keep_future=True)
    store.rename_thread(thread_id, "u" * 600)
    checkpoint = store.get_checkpoint(thread_id, made)
    lengths = [len(store.get_thread(thread_id).title), len(checkpoint.name), len(checkpoint.description)]
    assert [*lengths, *(len(b.name) for b, _ in store.list_branches(thread_id))] == [500, 500, 10_000, 4, 500]
    reading.read_document(transfer.export(store, thread_id))


def test_a_message_cannot_stand_in_for_the_head(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    [first, *_] = store.append(thread_id, _with_id("head")), None
    store.append(thread_id, new("c"))
    store.append(thread_id, new("d"), after=first.result)
    assert texts(store, thread_id) == ["a", "b", "f", "d"]


def test_what_is_read_inside_one_view_is_of_one_moment(lasting_store: Store) -> None:
    thread_id = talked(lasting_store, "a", "b")
    with ThreadPoolExecutor(1) as another, lasting_store.database.begin_read():
        assert lasting_store.count_messages(thread_id) == 2
        another.submit(lasting_store.append, thread_id, new("c")).result()
        assert (
            lasting_store.count_messages(thread_id),
            another.submit(lasting_store.count_messages, thread_id).result(),
        ) == (2, 3)
    assert lasting_store.count_messages(thread_id) == 3


def test_the_same_wish_from_two_callers_at_once_begins_one_conversation(lasting_store: Store) -> None:
    """There is no row yet that one of the two could wait for."""
    runs, by = Runs(lasting_store), Caller(request_id="wish-1")
    begun = at_once(lambda: runs.begin_run(None, new("a")[0], caller=by).id)
    assert (set(begun), len(lasting_store.list_threads())) == ({"wish-1"}, 1)


def test_the_same_file_imported_twice_at_once_is_one_conversation(lasting_store: Store) -> None:
    doc = reading.read_document(OLDER)
    made = at_once(lambda: transfer.import_thread(lasting_store, doc).result)
    assert len(set(made)) == len(lasting_store.list_threads()) == 1


@pytest.mark.parametrize("verb", ["append", "save", "rename_thread"])
def test_the_same_request_twice_at_once_has_one_effect(lasting_store: Store, verb: str) -> None:
    thread_id = talked(lasting_store, "a", "b")
    before = lasting_store.get_thread(thread_id).version
    at_once(lambda: VERBS[verb](lasting_store, thread_id, Caller(request_id="wish-1")))
    assert lasting_store.get_thread(thread_id).version == before + 1


def at_once(wish: Callable[[], object], callers: int = 4) -> list[object]:
    start = threading.Barrier(callers)

    def ask(_: int) -> object:
        start.wait()
        return wish()

    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(ask, range(callers)))


def test_a_name_with_a_character_that_no_database_can_hold_is_mended(store: Store) -> None:
    thread_id = store.create_thread(title="ti\0tle").id
    store.append(thread_id, new("a\0b"))
    made = store.save(thread_id, name="na\0me", description="descrip\0tion").result
    checkpoint = store.get_checkpoint(thread_id, made)
    assert (store.get_thread(thread_id).title, checkpoint.name, checkpoint.description) == (
        "ti\ufffdtle",
        "na\ufffdme",
        "descrip\ufffdtion",
    )
    assert texts(store, thread_id) == ["a\0b"]  # in a message it is an escape
    assert not store.thread_exists("nothing\0")
