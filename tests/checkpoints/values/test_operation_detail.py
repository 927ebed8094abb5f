"""Details of operations: facts alone, so that no changed word of the page can change what is known of an operation."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from checkpoints import OperationDetail, OperationKind, Store
from checkpoints.values.operation_detail import Subject
from tests.checkpoints.conversations import dump, talked
from tests.checkpoints.test_atomicity import EVERY, World
from tests.filled_stores import FilledMemory, FilledStore

ROOT = Path(__file__).parents[3]
WINGS = ("checkpoints", "agent", "components")


@pytest.fixture(scope="module")
def filled() -> Iterator[FilledStore[World]]:
    """A world, built once: that takes longer than a test."""
    worlds: list[World] = []
    database = FilledMemory(lambda made: worlds.append(World.build(Store(made))))
    yield FilledStore(database, worlds[0])
    database.close()


@pytest.fixture
def world(filled: FilledStore[World]) -> Iterator[World]:
    with filled.copy() as store:
        yield replace(filled.content, store=store)


@pytest.mark.parametrize("name", EVERY)
def test_every_text_of_a_detail_is_a_name_a_setting_or_a_key(world: World, name: str) -> None:
    store = world.store
    known = {world.exported.thread.title, *get_args(Subject), *_texts(dump(store)["thread"])}
    known |= {text for table in ("branch", "checkpoint") for text in _texts(dump(store)[table])}
    EVERY[name](world)
    known |= {text for table in ("thread", "branch", "checkpoint", "tag") for text in _texts(dump(store)[table])}
    done = [each for thread in store.list_threads() for each in store.list_operations(thread.id)]
    known |= {text for operation in done for change in operation.changes for text in _texts([change.before, change.after])}
    for operation in done:
        assert set(_texts(operation.detail.to_json())) <= known


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for each in value.values() for text in _texts(each))
    elif isinstance(value, list | tuple):
        yield from (text for each in value for text in _texts(each))


def test_no_sentence_is_put_into_a_detail() -> None:
    calls = [call for wing in WINGS for path in (ROOT / wing).rglob("*.py") for call in _details(path)]
    assert len(calls) > 15
    for call in calls:
        for keyword in call.keywords:
            parts = list(ast.walk(keyword.value))
            assert not any(isinstance(part, ast.JoinedStr | ast.BinOp) for part in parts), ast.unparse(call)
            if keyword.arg != "subject":
                constants = {part.value for part in parts if isinstance(part, ast.Constant)}
                assert {each for each in constants if isinstance(each, str) and " " in each} == set(), ast.unparse(call)


def _details(path: Path) -> list[ast.Call]:
    text = path.read_text(encoding="utf-8")
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)] if "OperationDetail(" in text else []
    return [call for call in found if isinstance(call.func, ast.Name) and call.func.id == "OperationDetail"]


def test_a_detail_is_read_back_as_it_was_written(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    made = store.restore(thread_id, store.list_checkpoints(thread_id)[0].id).operation
    expected = OperationDetail(name="after b", messages=2, checkpoints=1, future_kept=False)
    found = store.get_last_operation(thread_id)
    assert found is not None
    assert (found.kind, found.detail, made.detail) == (OperationKind.RESTORE, expected, expected)


@pytest.mark.parametrize(
    "stored", [None, [], "x", {"messages": -1, "depth": True, "place": "away", "subject": [], "settings": {"a": 1}}]
)
def test_a_damaged_detail_is_an_empty_one(stored: object) -> None:
    assert OperationDetail.from_json(stored) == OperationDetail()
