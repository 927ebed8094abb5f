"""Limits of a person: what is beyond them is refused before it begins, and nothing of it is left."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from checkpoints import Caller, CandidateEnd, NewMessage, RunEnd, Runs, RunState, Store, act_for
from checkpoints.interchange import reading, transfer
from checkpoints.people.members import Members
from checkpoints.people.usage import read_own_usage, read_usage_of_all
from checkpoints.person_limits import LimitReachedError, PersonLimits, PersonUse
from checkpoints.values import files, serde
from checkpoints.values.model import ThreadRole
from tests.checkpoints.conversations import new
from tests.conftest import Clock

MODEL = "openai:heron"


def answer(tokens: int, output: int = 0) -> NewMessage:
    usage = {"input_tokens": tokens - output, "output_tokens": output, "total_tokens": tokens}
    message = AIMessage("a heron", usage_metadata=usage, response_metadata={"spec": MODEL})  # type: ignore[arg-type]
    return NewMessage(serde.to_body(message))


def take_turn(store: Store, tokens: int, output: int = 0) -> str:
    """Ask and answer in a new conversation, and return its id."""
    runs = Runs(store)
    run = runs.begin_run(None, new("a question")[0])
    runs.commit_message(run, answer(tokens, output))
    runs.end_run(run, RunState.DONE)
    return run.thread_id


def test_one_answer_too_many_at_once_is_refused_until_another_ends(store: Store) -> None:
    store.meter.limits, runs = PersonLimits(runs=2), Runs(store)
    first, _ = (runs.begin_run(None, new("one")[0]) for _ in range(2))
    with pytest.raises(LimitReachedError, match=r"limit of 2 answers at once"):
        runs.begin_run(None, new("three")[0])
    assert len(store.list_threads()) == 2
    runs.end_run(first, RunState.DONE)
    runs.begin_run(first.thread_id, new("three")[0])


def test_the_tokens_of_a_day_are_all_of_them_again_at_midnight(store: Store, clock: Clock) -> None:
    store.meter.limits = PersonLimits(tokens_a_day=100)
    take_turn(store, 60)
    thread = take_turn(store, 60)
    with pytest.raises(LimitReachedError, match=r"100 tokens .* 00:00 UTC, in 12 h 0 min"):
        take_turn(store, 1)
    store.undo(thread)  # they were used
    with pytest.raises(LimitReachedError):
        take_turn(store, 1)
    clock.turn(timedelta(hours=12))
    take_turn(store, 1)


def test_a_call_beside_any_answer_counts_for_its_person(ordinary_store: Store) -> None:
    """On PostgreSQL row-level security lets it count for nobody else."""
    store = ordinary_store
    store.database.separate_owners()
    store.meter.limits = PersonLimits(tokens_a_day=100)
    with act_for("ann"):
        for _ in range(2):
            store.meter.check_call("ann", store.now())
            store.meter.count_call("ann", store.now(), MODEL, {"input_tokens": 50, "output_tokens": 10, "total_tokens": 60})
        with pytest.raises(LimitReachedError):
            store.meter.check_call("ann", store.now())
    with act_for("bob"):
        store.meter.check_call("bob", store.now())
        assert not read_own_usage(store).rows


def test_storage_is_measured_again_after_a_minute(store: Store, clock: Clock) -> None:
    store.meter.limits = PersonLimits(storage_bytes=1_000_000)
    thread = take_turn(store, 1)
    store.append(thread, new("x" * 1_000_000))
    clock.turn(timedelta(minutes=1))
    with pytest.raises(LimitReachedError, match=r"1 MB of the 1 MB"):
        take_turn(store, 1)
    assert store.meter.count_use("local", clock()).storage_bytes > 1_000_000


@pytest.mark.parametrize("copy", ["fork", "import", "note", "other text"])
def test_a_copy_an_import_a_note_or_another_text_takes_room_as_well(store: Store, clock: Clock, copy: str) -> None:
    store.meter.limits = PersonLimits(storage_bytes=1_000_000)
    thread = take_turn(store, 1)
    document = reading.read_document(transfer.export(store, thread))
    store.append(thread, new("x" * 1_000_000))
    clock.turn(timedelta(minutes=1))
    make = {"fork": partial(store.fork_thread, thread, None)}
    make["note"] = partial(store.append, thread, new("a note from another branch"))
    make["other text"] = partial(store.replace, thread, store.list_messages(thread)[0].id, new("another question")[0])
    make["import"] = partial(transfer.merge_document, store, thread, document)
    with pytest.raises(LimitReachedError, match=r"1 MB of the 1 MB"):
        make[copy]()
    assert [each.id for each in store.list_threads()] == [thread]


def test_a_copy_takes_room_of_the_member_who_makes_it(memory_store: Store, clock: Clock) -> None:
    store = memory_store
    store.database.separate_owners()
    store.meter.limits = PersonLimits(storage_bytes=1_000_000)
    with act_for("ann"):
        thread = store.create_thread().id
        store.append(thread, new("x" * 1_000_000))
        Members(store).add_member(thread, "bob", ThreadRole.EDITOR)
    clock.turn(timedelta(minutes=1))
    with act_for("bob"):
        store.fork_thread(thread, None)
        with pytest.raises(LimitReachedError, match="ann, who owns this conversation, has no room left"):
            store.import_into(thread, lambda _transaction: None)


def test_a_repeated_request_is_the_same_run_beyond_the_limit(store: Store) -> None:
    store.meter.limits, runs = PersonLimits(runs=1), Runs(store)
    caller = Caller(request_id="a-request")
    run = runs.begin_run(None, new("one")[0], caller=caller)
    assert runs.begin_run(run.thread_id, new("one")[0], caller=caller).id == run.id


def test_an_answer_is_not_tried_again_beyond_the_limit_while_others_are_written(store: Store) -> None:
    runs = Runs(store)
    run = runs.begin_run(None, new("which?")[0], models=["a", "b"])
    failed = runs.list_candidates(run.id)[1]
    runs.end_candidate(run, CandidateEnd(failed, RunEnd(RunState.FAILED), [answer(100)]))
    store.meter.limits = PersonLimits(tokens_a_day=100)
    with pytest.raises(LimitReachedError):
        runs.retry_candidate(run.thread_id, failed.key, while_running=True)
    store.meter.limits = PersonLimits(runs=1)
    runs.retry_candidate(run.thread_id, failed.key, while_running=True)


def test_each_person_has_limits_of_their_own(memory_store: Store) -> None:
    store = memory_store
    store.database.separate_owners()
    store.meter.limits = PersonLimits(runs=1, tokens_a_day=100, storage_bytes=10**9)
    with act_for("ann"):
        take_turn(store, 200)
        assert store.meter.count_use("ann", store.now()).tokens_today == 200
        with pytest.raises(LimitReachedError):
            take_turn(store, 1)
    with act_for("bob"):
        Runs(store).begin_run(None, new("one")[0])
        use = store.meter.count_use("bob", store.now())
        assert (use.runs, use.tokens_today) == (1, 0)


def test_without_limits_nothing_is_counted(memory_store: Store) -> None:
    take_turn(memory_store, 200)
    assert memory_store.meter.count_use("local", memory_store.now()) == PersonUse()


def test_usage_is_by_day_and_model_and_for_its_person_alone(memory_store: Store, clock: Clock) -> None:
    store = memory_store
    store.database.separate_owners()
    with act_for("ann"):
        thread = take_turn(store, 50, output=20)
        take_turn(store, 50, output=20)
        store.fork_thread(thread, store.list_messages(thread)[-1].id)  # a copy was used once
        clock.turn(timedelta(days=1))
        take_turn(store, 8)
    with act_for("bob"):
        take_turn(store, 1)
        assert [row.owner for row in read_own_usage(store).rows] == ["bob"]
    found = read_usage_of_all(store)
    of_ann = [(found.today - row.day, row.model, row.answers, row.tokens.input, row.tokens.output) for row in found.rows[:2]]
    assert of_ann == [(1, MODEL, 2, 60, 40), (0, MODEL, 1, 8, 0)]
    assert found.threads == {"ann": 4, "bob": 1}
    assert found.storage is not None
    assert found.storage["ann"] > found.storage["bob"] > 0


def test_attached_files_take_room(memory_store: Store) -> None:
    file = files.parse_file("heron.txt", b"x" * 5_000)
    content = files.build_content("see", [files.make_file_part(file)])
    thread = memory_store.create_thread()
    memory_store.append(thread.id, [NewMessage(serde.to_body(HumanMessage(content)), files=(file,))])
    storage: Mapping[str, int] | None = read_own_usage(memory_store).storage
    assert storage is not None
    assert 5_000 < storage["local"] < 6_000
