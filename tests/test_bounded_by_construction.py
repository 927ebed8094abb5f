"""Input at a limit goes through everything that a conversation does; beyond the limit it is refused with the number.

The cost of a view is counted in statements and characters, and for the dearest documents in calls of functions. Of the
processes that format, it is what they report: no text is begun after a view's seconds are used. A busy machine changes none
of these counts; seconds are measured in `benchmarks/`.
"""

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agent.context import recent_messages
from agent.context.window import DEFAULT_WINDOW_TOKENS
from checkpoints import Database, Message, Run, RunState, StateError, Store
from checkpoints.interchange import reading, transfer
from checkpoints.rows import operation_rows
from checkpoints.values import limits, serde
from components import comparing
from components.page import PANELS, read_panels
from components.page_state import PageLocation
from components.panels import bring_home, run_again
from components.replies import to_json
from components.routes import (
    agent_transcript,
    graph_state,
    growth,
    thread_list,
    usage,
)
from components.services import Services
from components.views import message_window
from components.views.shown_text import MAX_SHOWN_CHARS, MAX_VIEW_CALLS, MAX_VIEW_CHARS
from components.workers import rendering
from tests.checkpoints import shapes
from tests.components.parts import open_services
from tests.entry_points import ENTRY_POINTS, Conversation, EntryPoint, talking, write_objects
from tests.generated_documents import Tree, generate_trees
from tests.rounds import given_examples
from tests.statements import record_statements

MAX_VIEW_STATEMENTS = 80
MAX_REPLY_CHARS = 2 * MAX_VIEW_CHARS + 200_000  # JSON writes a line break as two characters; and the frame
MAX_READING = limits.MAX_READ_VALUES + limits.MAX_PART_VALUES  # values: the last message read may be one too many
MAX_OWN_VALUES = 1_000  # of the messages of the turn
MAX_TURN_CALLS = DEFAULT_WINDOW_TOKENS // 15  # a call without arguments has some tokens more
MAX_VIEW_FUNCTION_CALLS = 1_500_000  # of the page and an agent's memory: a third of it takes 0.2 s of a processor
SEGMENTS_OF_A_STATEMENT = 100  # at least: checkpoints on a path are read in portions of its segments
ROWS_OF_A_STATEMENT = 20  # of an import, at least
MAX_IMPORT_STATEMENTS = 60  # beside those
MAX_CHANGE_STATEMENTS = 30  # of a save or a restore
MAX_TURN_STATEMENTS = 60
OF_THE_WATCHDOG = ("BEGIN", "SELECT run.thread_id")  # its look for runs at work
MAX_EXPORT_STATEMENTS = 20
LIMIT = re.compile(r"\d[\d,.]* (MB|megabytes|messages|values|tool calls|alternatives|branches|parts|objects)|\d[\d,]{2,}")
FORM_OBJECTS = 200  # that an export of one has in its form, and half of its commas
TESTS = Path(__file__).parent
QUICK = ("a message", "a deep file", "a file's name", "a description")
LONG = ("small messages", "a large state")  # documents that take long to make
LETTERS = ["x", "é", "🙂", "\\", "\n", "<", "[", "|"]


TABLE = "|a" * 250 + "|\n" + "|-" * 250 + "|\n" + ("|b" * 250 + "|\n") * 150
SMALL_TABLES = ("|a" * 250 + "|\n" + "|-" * 250 + "|\n" + "a\n" * 18 + "\n") * 50


def repeat(text: str, count: int = 20) -> Callable[[], str]:
    """So many answers of almost as many characters as the page shows, each another one."""
    return lambda: shapes.saying([f"{number}\n\n{text}"[: MAX_SHOWN_CHARS - 10] for number in range(count)])


def write_calls() -> str:
    calls = [{"name": "fork", "args": {}, "id": f"call_{number}"} for number in range(128)]
    return shapes.following([AIMessage("", tool_calls=calls)] * 100)


def write_arguments() -> str:
    call = {"name": "look", "args": {f"k{number}": number for number in range(10_000)}, "id": "a"}
    return shapes.following([AIMessage("", tool_calls=[call])] * 20)


def write_results() -> str:
    calls = [{"name": "look", "args": {}, "id": f"call_{number}"} for number in range(128)]
    results = [ToolMessage("<" * 25_000, tool_call_id=f"call_{number}") for number in range(128)]
    return shapes.following([AIMessage("", tool_calls=calls), *results])


DEAR_DOCUMENTS: dict[str, Callable[[], str]] = {
    "tables": repeat(TABLE),
    "small tables": repeat(SMALL_TABLES),
    "images": repeat("![a](http://b/c)" * 5_000),
    "links": repeat("[a](http://b)" * 5_000),
    "quotes": repeat("> a\n\n" * 12_000),
    "code": repeat("```python\n" + "x = 1 + f(y)\n" * 4_000),
    "brackets": repeat("[" * 60_000),
    "line breaks": lambda: shapes.following([HumanMessage("\n" * 60_000)] * 60),
    "calls": write_calls,
    "arguments": write_arguments,
    "results": write_results,
    "checkpoints": lambda: shapes.marked([f"{number}{'x' * 450}" for number in range(5_000)]),
    "small messages": lambda: shapes.saying(["x"] * 20_000),
    "long texts": lambda: shapes.saying(["word " * 300_000, "words " * 300_000]),
    "states": lambda: shapes.stateful(10_000, values=500),
    "a large state": lambda: shapes.stateful(2, values=limits.MAX_STATE_ITEMS - 1),
}


def write_many_calls(answers: int, calls: int) -> str:
    """Questions with answers of so many calls, whose ids begin again in each."""
    asked = [{"name": "look", "args": {}, "id": f"call_{number}"} for number in range(calls)]
    turn = (HumanMessage("And?"), AIMessage("", tool_calls=asked))
    return shapes.following(turn * answers)


def write_many_values(messages: int, values: int) -> str:
    row = {"row": [0] * values}
    call = {"name": "look", "args": row, "id": "a"}
    turn = (HumanMessage("And?", additional_kwargs=row), AIMessage("", tool_calls=[call]))
    return shapes.following(turn * (messages // 2))


def write_many_tables(messages: int, columns: int) -> str:
    table = "|a" * columns + "|\n" + "|-" * columns + "|\n" + "a\n" * 18 + "\n"
    return shapes.following([HumanMessage("And?"), *[AIMessage(table * (40_000 // len(table)))] * messages])


MANY: dict[str, tuple[Callable[[int, int], str], int, int]] = {  # with the most that is tried here of each number
    "calls": (write_many_calls, 198, limits.MAX_CALLS),
    "values": (write_many_values, 16, limits.MAX_PART_VALUES - 100),
    "tables": (write_many_tables, 3, 250),
}


@contextmanager
def counting_function_calls() -> Iterator[list[int]]:
    """Count the calls of this thread, of Python's functions and of others."""
    found = [0]

    def count(_frame: object, event: str, _argument: object) -> None:
        found[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield found
    finally:
        sys.setprofile(before)


@contextmanager
def recording_costs() -> Iterator[list[float]]:
    """Record the seconds that the processes report for the texts that are begun."""
    costs, ask = list[float](), rendering.Renderer._ask

    def ask_and_record(renderer: rendering.Renderer, text: str) -> tuple[str | None, float]:
        html, cost = ask(renderer, text)
        costs.append(cost)
        return html, cost

    with patch.object(rendering.Renderer, "_ask", ask_and_record):
        yield costs


async def expect_cheap_views(services: Services, thread_id: str) -> None:
    """View the page twice, and an agent's memory."""
    for _ in range(2):
        with counting_function_calls() as calls:
            with services.store.database.begin_read(), recording_costs() as page_costs:
                shown = read_panels(PANELS, services, PageLocation(thread_id, {}))
            with recording_costs() as memory_costs:
                memory = agent_transcript._read_agent_transcript(services, thread_id, "main", None, 50)
        replies = [len(to_json(each).decode()) for each in (shown, memory)]
        assert max(replies) <= MAX_REPLY_CHARS
        messages = shown["transcript"]["data"]["messages"]
        assert sum(len(each["html"]) for each in messages) <= MAX_VIEW_CHARS
        assert sum(len(each["tools"]) for each in messages) <= MAX_VIEW_CALLS
        assert calls[0] <= MAX_VIEW_FUNCTION_CALLS
        assert all(sum(costs[:-1]) < rendering.MAX_PAGE_SECONDS for costs in (page_costs, memory_costs))


def compare_with_first(services: Services, thread_id: str) -> object:
    first = services.store.list_messages(thread_id, last=1, before=1)[0]
    mark = services.renderer.comparison()
    return comparing.compare_places(services.store, services.runs, thread_id, f"message:{first.id}", "", mark=mark)


Reading = Callable[[Services, str], object]
READINGS: dict[str, Reading] = {  # all that the page reads of a conversation beside its panels
    "the words that differ": compare_with_first,
    "the plot of tokens": lambda services, thread_id: growth.measure_growth(
        services.store, services.runner.inputs, thread_id
    ),
    "tokens and cost": lambda services, thread_id: usage.sum_figures(services.store, thread_id, "", {}),
    "questions to run again": lambda services, thread_id: run_again.describe_choice(services, thread_id, ""),
    "messages to quote": lambda services, thread_id: bring_home.list_offered(
        bring_home.read_origin(services.store, thread_id, "")
    ),
    "the values of a graph": lambda services, thread_id: graph_state.describe_states(
        services.store, services.runner, thread_id, "", ""
    ),
    "a search": lambda services, _: services.store.search("x or word", datetime.now(UTC), limit=limits.MAX_SEARCH_HITS),
    "a search in it": lambda services, thread_id: services.store.find_in_path(thread_id, "x"),
    "the list": lambda services, _: thread_list.read_thread_portion(services.store, text="s"),
}


async def expect_cheap_readings(services: Services, thread_id: str) -> None:
    while services.store.index_portion():
        pass
    for name, read in READINGS.items():
        with services.store.database.begin_read(), counting_function_calls() as calls:
            read(services, thread_id)
        assert calls[0] <= MAX_VIEW_FUNCTION_CALLS, name


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.long) if kind in LONG else kind for kind in DEAR_DOCUMENTS]
)
def test_a_view_of_the_dearest_document_is_bounded(kind: str) -> None:
    async def story() -> None:
        async with open_services() as services:
            document = reading.read_document(DEAR_DOCUMENTS[kind]())
            thread_id = transfer.import_thread(services.store, document).result
            await expect_cheap_views(services, thread_id)
            await expect_cheap_readings(services, thread_id)

    asyncio.run(story())


async def refuse(talk: Conversation, entry_point: EntryPoint, letter: str, size: int) -> str:
    """Offer the input; return the sentence of its refusal, or an empty text."""
    try:
        found = await entry_point.offer(talk, letter, size)
    except StateError as error:
        return str(error)
    if isinstance(found, Run) and found.state is RunState.FAILED:
        return str(found.error)
    return found.text if isinstance(found, ToolMessage) else ""


def expect_bounded_view(talk: Conversation, segments: int = 0) -> None:
    statements, chars = talk.view()
    assert (statements <= MAX_VIEW_STATEMENTS + segments // SEGMENTS_OF_A_STATEMENT, chars <= MAX_REPLY_CHARS) == (
        True,
        True,
    ), (statements, chars)


def expect_same_elsewhere(talk: Conversation) -> None:
    """Import the export into another database, twice; each time the conversation has the same messages."""
    found, thread_id = talk.chat.store, talk.chat.thread_id
    path = [message.hash for message in talk.chat.path()]
    for _ in range(2):
        document = reading.read_document(transfer.export(found, thread_id))
        found = Store(Database.in_memory())
        thread_id = transfer.import_thread(found, document).result
        assert [message.hash for message in found.list_messages(thread_id)] == path


async def expect_going_on(talk: Conversation) -> None:
    """View, save, take a turn, restore, export and import again."""
    expect_bounded_view(talk)
    saved = talk.chat.store.save(talk.chat.thread_id).result
    path = [message.id for message in talk.chat.path()]
    assert (await talk.ask()).state is RunState.DONE
    talk.chat.store.restore(talk.chat.thread_id, saved)
    assert [message.id for message in talk.chat.path()] == path
    expect_bounded_view(talk)
    expect_same_elsewhere(talk)


async def expect_limit_holds(entry_point: EntryPoint, letter: str, size: int) -> None:
    async with talking() as talk:
        refusal = await refuse(talk, entry_point, letter, size)
        if entry_point.is_cut or size <= entry_point.limit:
            assert refusal == ""
        else:
            assert f"{entry_point.number:,}" in refusal
        await expect_going_on(talk)


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize(
    "entry_point", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ENTRY_POINTS]
)
def test_a_limit_holds_at_its_edge_both_ways(entry_point: str, beyond: int) -> None:
    asyncio.run(expect_limit_holds(ENTRY_POINTS[entry_point], "x", ENTRY_POINTS[entry_point].limit + beyond))


@pytest.mark.slow
def test_a_file_of_the_most_objects_goes_through_everything_and_one_more_is_refused() -> None:
    async def story() -> None:
        with pytest.raises(StateError, match=f"more than {limits.MAX_DOCUMENT_VALUES:,} values"):
            reading.read_document(write_objects(limits.MAX_DOCUMENT_VALUES // 2 + 1))
        async with talking() as talk:
            document = reading.read_document(write_objects(limits.MAX_DOCUMENT_VALUES // 2 - FORM_OBJECTS))
            thread = talk.chat.thread_id = transfer.import_thread(talk.chat.store, document).result
            expect_same_elsewhere(talk)
            with counting_work() as work:
                expect_bounded_view(talk)
                saved = talk.chat.store.save(thread).result
                assert (await talk.ask()).state is RunState.DONE
                talk.chat.store.restore(thread, saved)
            assert work.values <= 6 * MAX_READING  # of a view, the count of its context, and a request

    asyncio.run(story())


def test_each_limit_of_the_table_is_tried_at_its_edge() -> None:
    """A row that is added to the one table needs a test. Its sentence in the documents is no such test."""
    texts = [path.read_text() for path in TESTS.rglob("*.py") if path.name != "test_documents.py"]
    tried = {name for text in texts for name in re.findall(r"MAX_[A-Z_]+", text)}
    assert {name for name in vars(limits) if name.startswith("MAX_")} - tried == set()


@given_examples(3, 300, st.sampled_from(list(ENTRY_POINTS)), st.sampled_from(LETTERS), st.floats(0.01, 2))
def test_input_of_any_size_is_taken_back_or_refused(entry_point: str, letter: str, share: float) -> None:
    asyncio.run(
        expect_limit_holds(ENTRY_POINTS[entry_point], letter, max(4, round(ENTRY_POINTS[entry_point].limit * share)))
    )


@dataclass
class RequestWork:
    """What turns parsed and built, counted."""

    values: int = 0  # of messages read
    calls: int = 0  # of messages built for a request


@contextmanager
def counting_work() -> Iterator[RequestWork]:
    work, parse, build = RequestWork(), serde.parse_canonical, recent_messages.to_sendable

    def parse_and_count(text: str) -> Any:
        body = parse(text)
        work.values += limits.count_values(body, 10**6)
        return body

    def build_and_count(stored: Message) -> AnyMessage | None:
        message = build(stored)
        work.calls += len(message.tool_calls) if isinstance(message, AIMessage) else 0
        return message

    with (
        patch.object(serde, "parse_canonical", parse_and_count),
        patch.object(recent_messages, "to_sendable", build_and_count),
    ):
        yield work


async def expect_cheap_life(text: str) -> None:
    """View a document, save, take a turn and restore: the costs are those of what is shown and sent."""
    async with talking() as talk:
        document = reading.read_document(text)
        thread = talk.chat.thread_id = transfer.import_thread(talk.chat.store, document).result
        with counting_work() as work:
            assert talk.chat.runner.inputs.load_context(thread)
        assert work.values <= 3 * MAX_READING  # of the last answers for a count, twice, and else of what a request reads
        expect_bounded_view(talk)
        with counting_work() as work:
            saved = talk.chat.store.save(thread).result
            assert (await talk.ask()).state is RunState.DONE
            talk.chat.store.restore(thread, saved)
        assert work.values <= MAX_READING + MAX_OWN_VALUES
        assert work.calls <= MAX_TURN_CALLS
        expect_bounded_view(talk)


@pytest.mark.parametrize("kind", MANY)
def test_a_turn_costs_what_a_request_holds(kind: str) -> None:
    write, count, size = MANY[kind]
    asyncio.run(expect_cheap_life(write(count, size)))


@given_examples(2, 100, st.sampled_from(list(MANY)), st.floats(0.01, 1), st.floats(0.01, 1))
def test_no_number_of_calls_values_or_tables_makes_a_turn_dear(kind: str, count: float, size: float) -> None:
    write, most, largest = MANY[kind]
    asyncio.run(expect_cheap_life(write(max(2, round(most * count)), max(1, round(largest * size)))))


async def expect_bounded_life(text: str, segments: int) -> None:
    """Refuse a document with a limit, or do with it all that a person does, each within a number of statements."""
    async with talking() as talk:
        store = talk.chat.store
        try:
            document = reading.read_document(text)
        except StateError as error:
            refusal = str(error)
        else:
            refusal = ""
        if refusal:
            assert LIMIT.search(refusal), refusal
            return
        rows = len(document.messages) + len(document.checkpoints) + len(document.branches)
        with counting_statements(store, MAX_IMPORT_STATEMENTS + rows // ROWS_OF_A_STATEMENT):
            thread = talk.chat.thread_id = transfer.import_thread(store, document).result
        await expect_cheap_views(talk.services, thread)
        expect_bounded_view(talk, segments)
        with counting_statements(store, MAX_CHANGE_STATEMENTS):
            saved = store.save(thread).result
        path = [message.hash for message in talk.chat.path()]
        with (
            counting_statements(store, MAX_TURN_STATEMENTS + 4 * (segments // SEGMENTS_OF_A_STATEMENT)),
            counting_work() as work,
        ):
            assert (await talk.ask()).state is RunState.DONE
        assert work.values <= MAX_READING + MAX_OWN_VALUES
        with counting_statements(store, MAX_CHANGE_STATEMENTS):
            store.restore(thread, saved)
        assert [message.hash for message in talk.chat.path()] == path
        with counting_statements(store, MAX_EXPORT_STATEMENTS):
            transfer.export(store, thread)
        expect_same_elsewhere(talk)


@contextmanager
def counting_statements(store: Store, most: int) -> Iterator[None]:
    """Count the statements of the block, without those that the watchdog repeats: a slower block has more of them."""
    with record_statements(store.database) as statements:
        yield
    assert len([each for each in statements if not each.startswith(OF_THE_WATCHDOG)]) <= most


@given_examples(3, 100, generate_trees(0.4))
def test_no_shape_of_a_document_makes_anything_dear(tree: Tree) -> None:
    asyncio.run(expect_bounded_life(tree.write(), tree.segments))


@pytest.mark.long
@given_examples(3, 30, generate_trees(1.02))
def test_no_shape_at_the_limits_makes_anything_dear(tree: Tree) -> None:
    asyncio.run(expect_bounded_life(tree.write(), tree.segments))


@pytest.mark.parametrize("kind", MANY)
def test_messages_are_shown_up_to_a_number_of_values(kind: str) -> None:
    store = Store(Database.in_memory())
    write, count, size = MANY[kind]
    thread = transfer.import_thread(store, reading.read_document(write(count, size))).result
    shown, *_ = message_window.read_window(store, thread, message_window.resolve_window(None, thread))
    assert 0 < sum(limits.count_values(each.body, 10**6) for each in shown) <= limits.MAX_READ_VALUES


def test_a_view_does_not_read_the_rows_that_former_changes_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with talking() as talk:
            store, thread_id = talk.chat.store, talk.chat.thread_id
            for _ in range(3):
                store.fork(thread_id, None)
            store.prune_branches(thread_id)
            store.undo(thread_id)
            parsed: list[object] = []
            monkeypatch.setattr(operation_rows, "_is_row_change", lambda *each: not parsed.append(each))
            talk.view()
            assert parsed == []

    asyncio.run(story())
