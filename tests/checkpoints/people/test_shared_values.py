"""What a member writes into a conversation of somebody else is its owner's, and opens nothing else of theirs."""

import pytest
from langchain_core.messages import HumanMessage

from checkpoints import EVERYBODY, NewMessage, Store, act_for
from checkpoints.interchange import transfer
from checkpoints.langgraph import WaymarkSaver
from checkpoints.langgraph.state_views import list_channels, read_plain_value
from checkpoints.people.members import Members
from checkpoints.rows import thread_rows, value_rows
from checkpoints.rows.value_rows import Value
from checkpoints.values import files, serde
from checkpoints.values.model import ThreadRole
from tests.checkpoints.langgraph.graphs import ask, make_graph, read_channels

BOTH = ["memory_store", pytest.param("ordinary_store", marks=pytest.mark.slow)]


@pytest.fixture(params=BOTH)
def store(request: pytest.FixtureRequest) -> Store:
    found: Store = request.getfixturevalue(request.param)
    found.database.separate_owners()
    return found


def make_thread(store: Store, owner: str, **roles: ThreadRole) -> str:
    with act_for(owner):
        thread = store.create_thread(title=f"heron of {owner}").id
        for person, role in roles.items():
            Members(store).add_member(thread, person, role)
    return thread


def write_values(store: Store, person: str, *threads: str) -> list[int]:
    """Write a value into each of these conversations, in one transaction."""
    with act_for(person), store.database.begin_write() as connection:
        for thread in threads:
            thread_rows.load_thread(connection, thread)
        return [
            value_rows.insert_values(connection, [Value.of("json", f'"{thread}"'.encode())], thread)[0] for thread in threads
        ]


def test_a_transaction_of_several_conversations_writes_and_reads_the_values_of_each(ordinary_store: Store) -> None:
    store = ordinary_store
    store.database.separate_owners()
    of_ann = make_thread(store, "ann", bob=ThreadRole.EDITOR, carol=ThreadRole.READER)
    of_dora, of_bob = make_thread(store, "dora", bob=ThreadRole.EDITOR), make_thread(store, "bob")
    threads = {"ann": of_ann, "bob": of_bob, "dora": of_dora}
    [private] = write_values(store, "ann", make_thread(store, "ann"))
    numbers = dict(zip(threads, write_values(store, "bob", *threads.values()), strict=True))
    with act_for(EVERYBODY), store.database.begin_read() as connection:
        rows = connection.exec_driver_sql("SELECT number, owner FROM channel_value").all()
    assert dict(map(tuple, rows)) == {private: "ann"} | {number: owner for owner, number in numbers.items()}
    with act_for("bob"), store.database.begin_read() as connection:
        for owner, thread in [*threads.items()] * 2:
            thread_rows.load_thread(connection, thread)
            found = value_rows.select_values(connection, [*numbers.values(), private], thread)
            assert found.keys() - {private} == {numbers["bob"], numbers[owner]}
        seen = connection.exec_driver_sql("SELECT number FROM channel_value").scalars().all()
        assert seen == [numbers["bob"]]  # a statement that forgot whose they are
    with act_for("carol"), store.database.begin_read() as connection:
        thread_rows.load_thread(connection, of_ann)
        assert value_rows.select_values(connection, [*numbers.values()], of_ann).keys() == {numbers["ann"]}
        assert connection.exec_driver_sql("SELECT count(*) FROM channel_value").scalar_one() == 0


def test_what_a_member_writes_is_read_by_all_who_see_the_conversation(store: Store) -> None:
    """Messages, a file, checkpoints and the states of a graph: Ann, Bob and Ann again."""
    thread = make_thread(store, "ann", bob=ThreadRole.EDITOR, carol=ThreadRole.READER)
    graph = make_graph(WaymarkSaver(store))
    file = files.parse_file("heron.txt", b"a heron of bob")
    content = files.build_content("see", [files.make_file_part(file)])
    with act_for("ann"):
        ask(graph, thread, "one")
    with act_for("bob"):
        ask(graph, thread, "two")
        saved = store.save(thread, name="of bob", description="a place").result
    with act_for("ann"):
        ask(graph, thread, "three")
    with act_for("bob"):
        written = store.append(thread, [NewMessage(serde.to_body(HumanMessage(content)), files=(file,))]).result
        store.restore(thread, saved)
        store.undo(thread)
    expected = None
    for person in ("bob", "ann", "carol"):
        with act_for(person):
            with store.database.begin_read():
                state_id = store.get_checkpoint(thread, saved).state_id
                channels = list_channels(store.database, thread, state_id)
                notes = read_plain_value(store.database, thread, channels["notes"])
            assert notes == ["one" * 60, "two" * 60]
            assert read_channels(graph, thread)["notes"] == [*notes, "three" * 60]
            assert store.read_files([file.hash]) == {file.hash: b"a heron of bob"}
            assert store.get_message(thread, written).id == written
            document = transfer.export_document(store, thread)
            exported = [document[name] for name in ("messages", "checkpoints", "states", "state_values")]
            expected = expected or exported
            assert exported == expected
