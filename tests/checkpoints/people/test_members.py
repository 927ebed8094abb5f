"""Members of a conversation: an editor works in it, a reader follows it, and nobody else learns that it exists."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from checkpoints import (
    EVERYBODY,
    Caller,
    CandidateEnd,
    NewMessage,
    Rerun,
    Run,
    RunEnd,
    Runs,
    RunState,
    Store,
    ThreadNotFoundError,
    act_for,
)
from checkpoints.interchange import reading, transfer
from checkpoints.people import members
from checkpoints.people.audit_log import AuditLog
from checkpoints.people.members import Members
from checkpoints.person_limits import LimitReachedError, PersonLimits, PersonMeter
from checkpoints.rows import member_rows, thread_rows, usage_rows
from checkpoints.rows.account_rows import Role
from checkpoints.rows.member_rows import Member
from checkpoints.rows.thread_rows import from_time
from checkpoints.rows.value_rows import Value, insert_values, select_values
from checkpoints.storage import schema
from checkpoints.tags import Tags
from checkpoints.upkeep import verification
from checkpoints.upkeep.person_erasure import erase_person
from checkpoints.values import serde
from checkpoints.values.errors import (
    InvalidMemberError,
    OwnerOnlyError,
    ReadOnlyError,
    RequestReusedError,
    RunActiveError,
    StateError,
)
from checkpoints.values.limits import MAX_MEMBER_NAME_CHARS
from checkpoints.values.model import ListPlace, ThreadRole
from components.panels import share_dialog
from components.replies import to_plain
from extensions.people.accounts import Accounts
from server import trusted_proxy
from tests.checkpoints import tables
from tests.checkpoints.conversations import new
from tests.checkpoints.people.houses import House, wait_for_lock_or_end
from tests.checkpoints.test_ownership import LAST, METHODS, call
from tests.filled_stores import FilledStore, fill_store
from tests.people import NOTHING, Things, fill
from tests.running_app import props_of

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
OWNERS_COLUMNS = ("owner", "pinned", "archived", "tags", "deleted_at")
CALLS: list[tuple[type, str]] = [each.values for each in METHODS]  # type: ignore[misc]
OWNERS_TABLES = ("thread_member", "share", "thread_tag")


class SharedHouse(House):
    """Ann's conversation, with Bob as an editor and Carol as a reader of it; Dora has her own, and was let out of Ann's."""

    def __init__(self, store: Store, ann: Things, dora: Things) -> None:
        super().__init__(store)
        self.ann, self.dora = ann, dora
        with act_for("dora"):
            LAST[:] = [store.get_message(self.dora.thread, self.dora.message)]

    @classmethod
    def build(cls, store: Store) -> "SharedHouse":
        store.database.separate_owners()
        house = cls(store, fill(store, "ann"), fill(store, "dora"))
        with act_for("ann"):
            house.members.add_member(house.thread, "bob", ThreadRole.EDITOR)
            house.members.add_member(house.thread, "carol", ThreadRole.READER)
            house.members.add_member(house.thread, "dora", ThreadRole.EDITOR)
            house.members.remove_member(house.thread, "dora")
            run = house.runs.get_run(house.ann.run)
            assert run
            house.runs.end_run(run, RunState.DONE)
        return house

    @property
    def thread(self) -> str:
        return self.ann.thread

    def read_rows(self) -> tables.Tables:
        with act_for(EVERYBODY):
            return tables.read(self.store, self.thread)

    def read_own_rows(self) -> Any:
        """The rows of the conversation that nobody but its owner may change."""
        rows = self.read_rows()
        [thread] = [row for row in rows["thread"].values() if row["id"] == self.thread]
        own = {
            name: {key: row for key, row in rows[name].items() if row["thread_id"] == self.thread} for name in OWNERS_TABLES
        }
        return {name: thread[name] for name in OWNERS_COLUMNS}, own


@pytest.fixture(scope="module", params=["memory_store", pytest.param("ordinary_store", marks=pytest.mark.slow)])
def filled_house(request: pytest.FixtureRequest) -> Iterator[FilledStore[SharedHouse]]:
    with fill_store(request, SharedHouse.build) as filled:
        yield filled


@pytest.fixture
def house(filled_house: FilledStore[SharedHouse]) -> Iterator[SharedHouse]:
    with filled_house.copy() as store:
        yield SharedHouse(store, filled_house.content.ann, filled_house.content.dora)


def test_a_reader_reads_all_and_changes_nothing(house: SharedHouse) -> None:
    before = house.read_rows()
    methods = [(kind, name) for kind, name in CALLS if name != "leave"]
    with act_for("ann"):
        expected = {name: call(house.store, kind, name, house.ann, house.thread) for kind, name in methods if _reads(name)}
    with act_for("carol"):
        for kind, name in methods:
            answer = call(house.store, kind, name, house.ann, house.thread)
            if name in expected:
                assert answer == expected[name], name
    after = house.read_rows()
    for name in before:
        if "thread_id" in schema.metadata.tables[name].c or name == "thread":
            assert {key: after[name].get(key) for key in before[name]} == before[name], name


def _reads(name: str) -> bool:
    return name in ("list_messages", "list_branches", "list_checkpoints", "get_message", "get_latest_run")


@pytest.mark.parametrize(
    "change",
    [
        lambda house: house.store.append(house.thread, new("x")),
        lambda house: house.store.undo(house.thread),
        lambda house: house.store.fork_thread(house.thread, house.ann.message),
        lambda house: house.runs.begin_run(house.thread, new("x")[0]),
        lambda house: house.runs.dismiss_latest(house.thread),
        lambda house: house.members.add_member(house.thread, "eve", ThreadRole.READER),
    ],
)
def test_a_reader_is_told_that_they_only_read(house: SharedHouse, change: Any) -> None:
    with act_for("carol"), pytest.raises(ReadOnlyError):
        change(house)


def test_an_editor_changes_all_but_what_is_the_owners_alone(house: SharedHouse) -> None:
    before, count = house.read_own_rows(), len(house.read_rows()["operation"])
    with act_for("bob"):
        for kind, name in CALLS:
            if name != "leave":
                call(house.store, kind, name, house.ann, house.thread)
    assert house.read_own_rows() == before
    assert len(house.read_rows()["operation"]) > count


@pytest.mark.parametrize(
    "change",
    [
        lambda house: house.store.delete_thread(house.thread),
        lambda house: house.store.pin_thread(house.thread, pinned=True),
        lambda house: house.store.archive_thread(house.thread, archived=True),
        lambda house: house.store.tag_thread(house.thread, add=["bobs"]),
        lambda house: house.members.add_member(house.thread, "eve", ThreadRole.READER),
        lambda house: house.members.change_role(house.thread, "carol", ThreadRole.EDITOR),
        lambda house: house.members.remove_member(house.thread, "carol"),
    ],
)
def test_an_editor_is_told_what_only_the_owner_may(house: SharedHouse, change: Any) -> None:
    with act_for("bob"), pytest.raises(OwnerOnlyError):
        change(house)


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [("MAX_MEMBERS_OF_THREAD", "at most {} people"), ("MAX_SHARED_THREADS", "is in {} conversations of others already")],
)
def test_members_have_limits_that_hold_at_their_edges(
    house: SharedHouse, limit: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with act_for("dora"):
        house.members.add_member(house.dora.thread, "eve", ThreadRole.READER)
    count = 2 if limit == "MAX_MEMBERS_OF_THREAD" else 1  # bob and carol; the conversation of Dora
    with act_for("ann"):
        monkeypatch.setattr(members, limit, count)
        with pytest.raises(InvalidMemberError, match=sentence.format(count)):
            house.members.add_member(house.thread, "eve", ThreadRole.READER)
        monkeypatch.setattr(members, limit, count + 1)
        assert house.members.add_member(house.thread, "eve", ThreadRole.READER).person == "eve"


def test_an_undo_of_a_member_does_not_reach_into_the_owners_list(house: SharedHouse) -> None:
    with act_for("ann"):
        house.store.pin_thread(house.thread, pinned=True)
    with act_for("bob"), pytest.raises(OwnerOnlyError):
        house.store.undo(house.thread)
    with act_for("ann"):
        assert house.store.get_thread(house.thread).pinned


def test_who_was_let_out_is_answered_as_if_it_never_was(house: SharedHouse) -> None:
    before = house.read_rows()
    with act_for("dora"):
        for kind, name in CALLS:
            theirs = call(house.store, kind, name, house.ann, house.thread)
            assert "of ann" not in theirs
            if name not in ("create_thread", "import_thread", "prepare_thread"):
                assert theirs == call(house.store, kind, name, NOTHING, NOTHING.thread), name
    after = house.read_rows()
    for name in before:
        if "thread_id" in schema.metadata.tables[name].c:
            assert after[name] == before[name]


def test_a_shared_conversation_is_in_the_list_without_the_owners_order(house: SharedHouse) -> None:
    with act_for("ann"):
        house.store.pin_thread(house.thread, pinned=True)
    later = house.store.now() + timedelta(hours=1)
    house.store.now = lambda: later
    with act_for("bob"):
        own = house.store.create_thread(title="Bob's heron")
        listed = house.store.list_thread_portion()
        assert [(each.id, each.owner, each.pinned, each.tags) for each in listed] == [
            (own.id, "bob", False, ()),
            (house.thread, "ann", False, ()),
        ]
        place = ListPlace(pinned=False, updated_at=listed[0].updated_at, thread_id=own.id)
        assert [each.id for each in house.store.list_thread_portion(after=place)] == [house.thread]
        assert [each.id for each in house.store.list_thread_portion(text="of ann")] == [house.thread]
        assert house.store.list_thread_portion(text="tag:heron") == []
        assert house.store.list_thread_portion(archived=True) == []
        assert Tags(house.store).list_tags() == []
        assert [each.detail.added for each in house.store.list_operations(house.thread) if each.kind == "tag"] == [[]]
        shown = house.store.get_thread(house.thread)
        assert (shown.pinned, shown.tags) == (False, ())
        assert {each.id for each in house.store.list_changed_threads(LONG_AGO)} == {
            own.id,
            house.thread,
        }


def test_a_new_member_is_told_of_an_old_conversation(house: SharedHouse) -> None:
    later = house.store.now() + timedelta(hours=1)
    house.store.now = lambda: later
    with act_for("ann"):
        house.members.add_member(house.thread, "eve", ThreadRole.READER)
    with act_for("eve"):
        found = house.store.list_changed_threads(later)
        assert [each.id for each in found] == [house.thread]


@pytest.mark.parametrize("query", ["heron", "heron ", 'heron in:"heron of ann"', "heron after:2020-01-01"])
def test_the_search_finds_what_is_shared(house: SharedHouse, query: str) -> None:
    for person, threads in (("bob", {house.thread}), ("carol", {house.thread}), ("eve", set())):
        with act_for(person):
            assert {hit.thread_id for hit in house.store.search(query, datetime.now(UTC)).hits} == threads


def test_who_did_it_stands_at_each_change_and_message(house: SharedHouse) -> None:
    with act_for("bob"):
        receipt = house.store.append(house.thread, new("from bob"))
        run = house.runs.begin_run(house.thread, new("a question of bob")[0])
        answer, _ = house.runs.commit_message(run, _answer())
        house.runs.end_run(run, RunState.DONE)
    with act_for("ann"):
        assert receipt.operation.person == "bob"
        newest = house.store.list_operations(house.thread, last=1)[0]
        assert (newest.actor, newest.person) == ("agent", "bob")
        found = house.runs.get_run(run.id)
        assert found
        assert found.person == "bob"
        assert house.store.get_message(house.thread, answer.id).person == "bob"
        first = house.store.list_messages(house.thread)[0]
        house.store.replace(house.thread, first.id, new("another beginning")[0])
        assert {each.person for each in house.store.list_messages(house.thread)} == {"ann", "bob"}


def _answer() -> NewMessage:
    [message] = new("an answer")
    counted = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    body = {**message.body, "type": "ai", "data": {**message.body["data"], "type": "ai", "usage_metadata": counted}}
    return NewMessage(serde.to_body(serde.to_message(body)))


def test_the_tokens_of_a_run_are_of_who_asked(house: SharedHouse) -> None:
    with act_for("bob"):
        run = house.runs.begin_run(house.thread, new("a question of bob")[0])
        now = from_time(house.store.now())
        with house.store.database.begin_read() as connection:
            assert usage_rows.count_use(connection, "bob", now) == (0, 1)
        house.runs.commit_message(run, _answer())
    for person, used in (("bob", (10, 1)), ("ann", (0, 0))):
        with act_for(person), house.store.database.begin_read() as connection:
            assert usage_rows.count_use(connection, person, now) == used


def test_an_answer_that_is_tried_again_is_of_who_tries_it(house: SharedHouse) -> None:
    """Who is let out, erased or made a reader loses the answers that they have asked for."""
    meter, runs = house.store.meter, house.runs
    meter.limits = PersonLimits(runs=1)
    with act_for("ann"):
        run = runs.begin_run(house.thread, new("which?")[0], models=["a", "b"])
        first, second = runs.list_candidates(run.id)
        runs.end_candidate(run, CandidateEnd(first, RunEnd(RunState.DONE), [_answer()]))
        runs.end_candidate(run, CandidateEnd(second, RunEnd(RunState.FAILED)))
    with act_for("bob"), pytest.raises(RunActiveError):  # it would be written with her others, and count for her
        runs.retry_candidate(house.thread, second.key, while_running=True)
    with act_for("ann"):
        runs.end_run(run, RunState.DONE)
    with act_for("bob"):
        again, stored = runs.retry_candidate(house.thread, second.key), runs.get_run(run.id)
        assert [each and (each.person, each.state) for each in (again, stored)] == [("bob", RunState.RUNNING)] * 2
        assert meter.count_use("bob", house.store.now()).runs == 1
    with act_for("ann"):
        assert meter.count_use("ann", house.store.now()).runs == 0


def test_an_answer_takes_room_of_the_owner_whoever_asks(house: SharedHouse) -> None:
    rerun = Rerun(house.store.new_id(), house.thread, "", {}, (house.ann.message,))

    def ask(person: str) -> None:
        house.store.meter = PersonMeter(house.store.database)  # that has measured nobody
        house.store.meter.limits = PersonLimits(storage_bytes=1_000_000)
        with act_for(person):
            house.runs.end_run(house.runs.begin_run(house.thread, new("a question")[0]), RunState.DONE)
            again = house.runs.begin_rerun(replace(rerun, id=house.store.new_id()), new("x")[0], after=None, name="again")
            house.runs.end_run(again, RunState.DONE)

    with act_for("bob"):
        house.store.append(house.store.create_thread().id, new("x" * 1_000_000))
    ask("bob")  # in a conversation of hers, who has room
    with act_for("ann"):
        house.store.append(house.store.create_thread().id, new("x" * 1_000_000))
    with pytest.raises(LimitReachedError, match="ann, who owns this conversation, has no room left"):
        ask("bob")
    with pytest.raises(LimitReachedError, match="1 MB of the 1 MB that you may store"):
        ask("ann")
    with act_for("bob"), pytest.raises(LimitReachedError, match="you may store"):
        house.runs.begin_run(None, new("a question")[0])  # in a conversation of his own


def test_a_fork_of_a_member_is_theirs(house: SharedHouse) -> None:
    with act_for("bob"):
        forked = house.store.fork_thread(house.thread, house.ann.message, caller=Caller(request_id="x")).result
        assert house.store.get_thread(forked).owner == "bob"
        assert [each.person for each in house.store.list_messages(forked)] == ["ann"]
        assert Tags(house.store).list_tags() == []
    with act_for("ann"), pytest.raises(ThreadNotFoundError):
        house.store.get_thread(forked)


def test_values_of_a_graph_are_seen_by_all_who_see_the_conversation(house: SharedHouse) -> None:
    with act_for("bob"), house.store.database.begin_write() as connection:
        connection.execute(schema.run.select().where(schema.run.c.thread_id == house.thread))
        [number] = insert_values(connection, [Value.of("json", b'"of bob"')], house.thread)
    for person in ("ann", "carol"):
        with act_for(person), house.store.database.begin_read() as connection:
            connection.execute(schema.run.select().where(schema.run.c.thread_id == house.thread))
            assert select_values(connection, [number], house.thread) == {number: ("json", b'"of bob"')}


def test_it_is_known_to_belong_to_another_whatever_the_database_shows(house: SharedHouse) -> None:
    """On PostgreSQL, the policies show nobody that it exists: a follower of it would wait for its beginning."""
    for person, is_closed in (("ann", False), ("bob", False), ("carol", False), ("dora", True)):
        with act_for(person):
            assert house.store.belongs_to_another(house.thread) == is_closed
            assert not house.store.belongs_to_another("0123456789abcdef0123")
    with act_for("carol"), pytest.raises(ReadOnlyError):
        house.store.belongs_to_another(house.thread, to_change=True)


def test_who_leaves_sees_it_no_more(house: SharedHouse) -> None:
    with act_for("carol", only_reads=True):
        house.members.leave(house.thread)
        with pytest.raises(ThreadNotFoundError):
            house.store.get_thread(house.thread)
    with act_for("ann"), pytest.raises(InvalidMemberError):
        house.members.leave(house.thread)


def test_a_deleted_conversation_is_gone_for_its_members(house: SharedHouse) -> None:
    with act_for("ann"):
        house.store.delete_thread(house.thread)
    with act_for("bob"):
        for change in (house.store.undo, house.store.list_messages, house.members.list_members):
            with pytest.raises(ThreadNotFoundError):
                change(house.thread)
        [gone] = house.store.list_changed_threads(LONG_AGO)
        assert (gone.id, gone.deleted) == (house.thread, True)
    with act_for(EVERYBODY), house.store.database.begin_read() as connection:
        assert member_rows.count_shared(connection, "bob") == 0


def test_nobody_but_a_member_is_removed(house: SharedHouse) -> None:
    """Before anything is done: a removal ends the answer of the person."""
    with act_for("ann"):
        house.members.require_member(house.thread, "bob")
        for person in ("ann", "dora"):
            with pytest.raises(InvalidMemberError, match="is not in this conversation"):
                house.members.require_member(house.thread, person)
    with act_for("bob"), pytest.raises(OwnerOnlyError):
        house.members.require_member(house.thread, "bob")


def test_members_are_named_once_and_are_people(house: SharedHouse) -> None:
    with act_for("ann"):
        for name in ("bob", "ann", "  ", "erased,01234567", "x" * 1_000):
            with pytest.raises(InvalidMemberError):
                house.members.add_member(house.thread, name, ThreadRole.READER)
        house.members.change_role(house.thread, "carol", ThreadRole.EDITOR)
        with pytest.raises(InvalidMemberError):
            house.members.change_role(house.thread, "eve", ThreadRole.EDITOR)
        roles = [(each.person, each.role) for each in house.members.list_members(house.thread)]
    assert roles == [("bob", ThreadRole.EDITOR), ("carol", ThreadRole.EDITOR)]
    with act_for("carol"):
        house.store.append(house.thread, new("from carol"))
    kinds = [entry.kind for entry in AuditLog(house.store).list_entries(limit=10) if entry.kind.startswith("member")]
    assert kinds == ["member-role", "member-removed", "member", "member", "member"]


def test_two_who_let_somebody_in_at_once_pass_no_bound(house: SharedHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one comes when the first has looked the name up."""
    monkeypatch.setattr("checkpoints.people.members.MAX_SHARED_THREADS", 1)
    find_person = Members._find_person

    def find_and_lose(members: Members, name: str) -> str:
        found = find_person(members, name)
        monkeypatch.setattr(Members, "_find_person", find_person)
        with act_for("dora"):
            house.members.add_member(house.dora.thread, name, ThreadRole.READER)
        return found

    monkeypatch.setattr(Members, "_find_person", find_and_lose)
    with act_for("ann"), pytest.raises(InvalidMemberError, match="eve is in 1 conversations of others already"):
        house.members.add_member(house.thread, "eve", ThreadRole.READER)
    with act_for(EVERYBODY), house.store.database.begin_read() as connection:
        assert member_rows.count_shared(connection, "eve") == 1


@pytest.mark.slow
def test_two_people_who_are_let_in_at_once_are_counted_one_after_the_other(
    ordinary_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = SharedHouse.build(ordinary_store)
    insert_member = member_rows.insert_member
    others: list[Future[Member]] = []

    def insert_beside(connection: sa.Connection, thread_id: str, member: Member) -> None:
        if not others:
            others.append(pool.submit(let_in, "fay"))
            wait_for_lock_or_end(connection, others[0])
        insert_member(connection, thread_id, member)

    def let_in(name: str) -> Member:
        with act_for("ann"):
            return house.members.add_member(house.thread, name, ThreadRole.READER)

    monkeypatch.setattr("checkpoints.people.members.MAX_MEMBERS_OF_THREAD", 3)
    monkeypatch.setattr(member_rows, "insert_member", insert_beside)
    with ThreadPoolExecutor(1) as pool:
        assert let_in("eve").person == "eve"
        with pytest.raises(InvalidMemberError, match="at most 3 people"):
            others[0].result()
    with act_for("ann"):
        assert [each.person for each in house.members.list_members(house.thread)] == ["bob", "carol", "eve"]


@pytest.mark.slow
def test_who_is_let_out_while_they_wait_for_the_conversation_begins_nothing(ordinary_store: Store) -> None:
    house = SharedHouse.build(ordinary_store)

    def ask() -> Run:
        with act_for("bob"):
            return house.runs.begin_run(house.thread, new("a question of bob")[0])

    with ThreadPoolExecutor(1) as pool, act_for("ann"):
        with house.store.database.begin_write() as connection:
            thread_rows.load_thread(connection, house.thread)
            member_rows.delete_member(connection, house.thread, "bob")
            asked = pool.submit(ask)
            wait_for_lock_or_end(connection, asked)
        with pytest.raises(ThreadNotFoundError):
            asked.result()
        assert house.runs.list_running_threads() == set()


@pytest.mark.slow
def test_who_leaves_waits_for_who_changes_the_conversation(ordinary_store: Store) -> None:
    """So no answer of theirs begins between the end of their running one and their leaving."""
    house = SharedHouse.build(ordinary_store)

    def leave() -> None:
        with act_for("bob"):
            house.members.leave(house.thread)

    with ThreadPoolExecutor(1) as pool, act_for("ann"):
        with house.store.database.begin_write() as connection:
            thread_rows.load_thread(connection, house.thread)
            leaving = pool.submit(leave)
            wait_for_lock_or_end(connection, leaving)
            assert not leaving.done()
            people = [each.person for each in member_rows.select_members(connection, house.thread)]
            assert people == ["bob", "carol"]
        leaving.result()
        assert [each.person for each in house.members.list_members(house.thread)] == ["carol"]


def test_the_id_of_another_persons_request_is_refused_as_a_used_one(house: SharedHouse) -> None:
    begun = "0c6f3f0e-8a52-4b1c-9d1e-2f6f7b1c9a10"  # the first request of a conversation is its id, and that of its run
    runs, caller = house.runs, Caller(request_id=begun)
    with act_for("ann"):
        runs.end_run(runs.begin_run(None, new("mine")[0], caller=caller), RunState.DONE)
    with act_for("dora"):
        running = runs.get_run(house.dora.run)
        assert running
        runs.end_run(running, RunState.DONE)
    before = house.read_rows()
    with act_for("dora"):
        for thread_id in (None, house.dora.thread):
            with pytest.raises(RequestReusedError):
                runs.begin_run(thread_id, new("a heron")[0], caller=caller)
    assert house.read_rows() == before


def test_one_person_has_no_members(memory_store: Store) -> None:
    thread = memory_store.create_thread()
    with pytest.raises(StateError):
        Members(memory_store).add_member(thread.id, "bob", ThreadRole.EDITOR)
    assert Members(memory_store).list_members(thread.id) == []


def test_an_erased_person_is_a_member_no_more_and_what_they_wrote_has_a_number(memory_store: Store) -> None:
    store = memory_store
    store.database.separate_owners()
    accounts, members = Accounts(store), Members(store)
    for name in ("ann", "Bob"):
        accounts.invite(f"token-{name}", Role.ADMIN, made_by="x", days=1)
        accounts.accept_invitation(f"token-{name}", name, "hash")
    with act_for("ann"):
        thread = store.create_thread(title="heron").id
        with pytest.raises(InvalidMemberError):
            members.add_member(thread, "eve", ThreadRole.READER)  # nobody is called so
        assert members.add_member(thread, "bob", ThreadRole.EDITOR).person == "Bob"
    with act_for("Bob"):
        store.append(thread, new("from Bob"))
        saved = store.save(thread, name="Bobs").result
        assert store.get_checkpoint(thread, str(saved)).person == "Bob"
        Runs(store).begin_run(thread, new("asked by Bob")[0])
    with pytest.raises(RunActiveError):  # in a conversation of hers
        erase_person(store.database, "Bob")
    with act_for(EVERYBODY):
        Runs(store).interrupt_orphans()
    erase_person(store.database, "Bob")
    with act_for("ann"):
        assert members.list_members(thread) == []
        numbers = _find_numbers(store)
        assert {each.person for each in store.list_messages(thread)} == numbers
        assert store.list_operations(thread)[-1].person in numbers
        assert {each.person for each in store.list_checkpoints(thread)} == numbers
    with act_for(EVERYBODY):
        rows = [row for name, found in tables.read(store).items() if name != "audit_entry" for row in found.values()]
    assert [row for row in rows if "Bob" in (row.get("person"), row.get("owner"), row.get("name"))] == []


def _find_numbers(store: Store) -> set[str]:
    """The numbers that replace names in the audit log."""
    return {entry.about for entry in AuditLog(store).list_entries(limit=50) if entry.about.startswith("erased,")}


def test_a_name_is_as_long_as_one_that_a_proxy_gives() -> None:
    form = to_plain(share_dialog.build_fields())
    assert props_of(form, share_dialog.Ids.NAME)["maxlength"] == MAX_MEMBER_NAME_CHARS == trusted_proxy.MAX_PERSON_CHARS


def test_anybody_may_import_what_somebody_else_of_the_same_database_has_exported(house: SharedHouse) -> None:
    """Its ids are in use where the database shows nothing of them."""
    with act_for("ann"):
        document = reading.read_document(transfer.export(house.store, house.thread))
        said = [each.body for each in house.store.list_messages(house.thread)]
    file = f"sha256:{house.ann.digest}"
    for person in ("eve", "eve", "dora"):
        with act_for(person):
            taken = transfer.import_thread(house.store, document).result
            assert house.store.get_thread(taken).owner == person
            assert [each.body for each in house.store.list_messages(taken)] == said
            assert house.store.read_files([file]) == {file: b"the heron of ann"}
            empty = house.store.create_thread().id
            transfer.merge_document(house.store, empty, document)
            assert [each.body for each in house.store.list_messages(empty)] == said
    with act_for(EVERYBODY):
        assert verification.verify(house.store.database).damages == ()
