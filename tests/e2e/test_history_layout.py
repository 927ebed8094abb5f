"""The layout of History, as data: a browser lays out generated trees."""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from math import log2
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from checkpoints.tree_reader import Fork
from components.views import history_svg

pytestmark = pytest.mark.e2e
MODULES = Path(__file__).parents[2] / "assets" / "modules" / "history"
Place = tuple[int | None, int]  # a segment and a number of messages; None: the beginning


def address_module(code: str) -> str:
    return f"data:text/javascript;base64,{b64encode(code.encode()).decode()}"


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """An empty page with `layOutHistory` and `findNeighbour`."""
    fold = address_module((MODULES.parent / "words" / "direction.mjs").read_text())
    places = address_module((MODULES / "places.mjs").read_text().replace("../words/direction.mjs", fold))
    layout = address_module((MODULES / "layout.mjs").read_text().replace("./places.mjs", places))
    page = browser.new_page()
    page.evaluate("async (address) => { Object.assign(window, await import(address)); }", layout)
    yield page
    page.close()


@st.composite
def histories(draw: st.DrawFn) -> dict[str, Any]:
    """A tree of segments with checkpoints, branches and moves at any of their places."""
    segments: list[dict[str, Any]] = [{"id": 0, "parent": None, "from": 0, "message": None}]
    begins = [0]
    for number in range(1, draw(st.integers(0, 12)) + 1):
        parent = draw(st.none() | st.integers(0, number - 1))
        begin = 0 if parent is None else begins[parent] + draw(st.integers(1, 12))
        begins.append(begin)
        segments.append({"id": number, "parent": parent, "from": begin, "message": f"fork {number}"})

    def place(name: str, **fields: Any) -> dict[str, Any]:
        segment = draw(st.integers(0, len(segments) - 1))
        messages = begins[segment] + draw(st.integers(1, 15))
        return {"id": name, "name": name, "segment": segment, "messages": messages, "message": name, **fields}

    def checkpoints(kind: str, most: int) -> list[dict[str, Any]]:
        authors = draw(st.lists(st.sampled_from(["user", "agent", "judge"]), max_size=most))
        return [place(f"{kind} {n}", created_by=author, pinned=False, here=False) for n, author in enumerate(authors)]

    current = draw(st.just({"segment": None, "messages": 0, "message": None}) | st.builds(lambda: place("head")))
    branches = [{**current, "id": "main", "name": "main", "current": True}]
    branches += [place(f"branch {n}", current=False) for n in range(draw(st.integers(0, 6)))]
    own = checkpoints("own", 8)
    if current["segment"] is not None and len(branches) > 1 and draw(st.booleans()):
        own.append({**current, "id": "stand", "name": "stand", "created_by": "user", "pinned": False, "here": True})
    removed = draw(st.none() | st.builds(lambda: place("removed", count=3, checkpoints=[])))
    return {
        **{"segments": segments, "branches": branches, "branch_count": len(branches), "removed": removed},
        **{"checkpoints": own, "elsewhere": checkpoints("other", 4)},
        "moves": [place(f"move {n}", kind="goto") for n in range(draw(st.integers(0, 3)))],
        "alternatives": [place(f"alternative {n}") for n in range(draw(st.integers(0, 3)))],
    }


def find_items(data: dict[str, Any]) -> list[Place]:
    """List the place of each item."""
    removed = [data["removed"]] if data["removed"] else []
    items = [
        each for name in ("checkpoints", "elsewhere", "moves", "branches", "alternatives") for each in data[name]
    ] + removed
    return [(each["segment"], each["messages"]) for each in items]


def list_path(data: dict[str, Any], place: Place) -> list[Place]:
    """List the messages up to a place, one by one."""
    segment, messages = place
    path: list[Place] = []
    while segment is not None:
        fork = data["segments"][segment]
        path += [(segment, count) for count in range(messages, fork["from"], -1)]
        segment, messages = fork["parent"], fork["from"]
    return [*path, (None, 0)][::-1]


def find_nodes(data: dict[str, Any]) -> set[Place]:
    """Find the places of items, and those where paths to items part."""
    followers = {pair for place in find_items(data) for pair in pairwise(list_path(data, place))}
    forks = {place for place, count in Counter(before for before, _ in followers).items() if count > 1}
    return {*find_items(data), *forks}


def lay_out(tab: Page, data: dict[str, Any], kind: str = "all", words: str = "") -> tuple[list[Any], list[Any]]:
    layout = tab.evaluate("([data, filter]) => layOutHistory(data, filter)", [data, {"kind": kind, "words": words}])
    return layout["rows"], layout["edges"]


@given(histories())
@settings(max_examples=150, deadline=None, database=None)
def check_rows(tab: Page, data: dict[str, Any]) -> None:
    rows, edges = lay_out(tab, data)
    assert len({row["key"] for row in rows}) == len(rows)
    items = [name for row in rows for name in list_items(row)]
    assert sorted(items) == sorted({*items})
    assert len(items) == len(find_items(data))
    assert {read_place(row) for row in rows if row["kind"] != "fold"} == find_nodes(data)
    for number, row in enumerate(rows):
        assert [edge["from"] for edge in edges if edge["to"] == number] == ([row["up"]] if row["up"] >= 0 else [])
        assert row["up"] < number
        if row["up"] >= 0:
            assert rows[row["up"]]["messages"] <= row["messages"]


def list_items(row: dict[str, Any]) -> list[str]:
    """Return what a row shows: nothing, an item, or a checkpoint and the branch that ends with it."""
    own = [row["key"]] if row["item"] else []
    return [*own, f"branch:{row['branch']['id']}"] if row["kind"] == "checkpoint" and row["branch"] else own


def read_place(row: dict[str, Any]) -> Place:
    if row["item"]:
        return row["item"]["segment"], row["messages"]
    segment, messages = row["key"].split(":")[1:]
    return None if segment == "null" else int(segment), int(messages)


@given(histories())
@settings(max_examples=150, deadline=None, database=None)
def check_lanes(tab: Page, data: dict[str, Any]) -> None:
    rows, edges = lay_out(tab, data)
    for edge in edges:
        lane, target = rows[edge["from"]]["lane"], rows[edge["to"]]["lane"]
        assert target - lane in (0, 1)
        # The edge runs down its lane: no row is on it, and an edge that shares the lane comes from the same row.
        assert all(row["lane"] != lane for row in rows[edge["from"] + 1 : edge["to"]])
        for other in edges:
            if rows[other["from"]]["lane"] == lane and other["from"] < edge["to"] and edge["from"] < other["to"]:
                assert other["from"] == edge["from"]
    assert max(row["lane"] for row in rows) <= log2(len(rows)) + 1
    assert {row["lane"] for row in rows if row["line"] == "current"} == {0}
    assert all(row["line"] == "current" for row in rows if row["item"] and row["item"]["isHere"])


@pytest.mark.slow
def test_every_place_and_fork_has_one_row_after_those_before_it(tab: Page) -> None:
    check_rows(tab)


@pytest.mark.slow
def test_no_edge_crosses_another(tab: Page) -> None:
    check_lanes(tab)


def test_filters_leave_what_they_name_and_the_current_position(tab: Page) -> None:
    place = {"segment": 0, "messages": 2, "message": "m", "here": False}
    names = [("Mine", "user", False), ("Agent's", "agent", True), ("Judge's", "judge", False)]
    checkpoints = [
        {**place, "id": name, "name": name, "created_by": author, "pinned": pinned} for name, author, pinned in names
    ]
    data = {
        "segments": [{"id": 0, "parent": None, "from": 0, "message": None}],
        **{"branches": [{**place, "id": "main", "name": "main", "current": True}], "branch_count": 1},
        **{"checkpoints": checkpoints, "elsewhere": [], "moves": [], "alternatives": [], "removed": None},
    }

    def shown(kind: str, words: str = "") -> list[str]:
        return [row["item"]["value"]["name"] for row in lay_out(tab, data, kind, words)[0]]

    assert [shown(kind) for kind in ("mine", "agent", "judge", "pinned")] == [
        [name, "main"] for name in ("Mine", "Agent's", "Judge's", "Agent's")
    ]
    assert shown("all", "judge") == ["Judge's", "main"]


def test_messages_without_places_are_folded(tab: Page) -> None:
    place = {"segment": 0, "message": "m", "created_by": "user", "pinned": False, "here": False}
    data = {
        "segments": [{"id": 0, "parent": None, "from": 0, "message": None}],
        "branches": [{**place, "messages": 23, "id": "main", "name": "main", "current": True}],
        "checkpoints": [{**place, "messages": count, "id": str(count), "name": str(count)} for count in (10, 12)],
        **{"branch_count": 1, "elsewhere": [], "moves": [], "alternatives": [], "removed": None},
    }
    rows, _ = lay_out(tab, data)
    assert [[row["kind"], row["count"]] for row in rows] == [
        *(["fold", 9], ["checkpoint", 0], ["checkpoint", 0], ["fold", 10], ["branch", 0])
    ]


def test_a_summary_stands_below_what_it_replaced(tab: Page) -> None:
    """A summary replaced messages 3 to 9, and another one that summary and all before it."""
    place = {"created_by": "user", "pinned": False, "here": False}

    def put(name: str, segment: int, messages: int, **fields: Any) -> dict[str, Any]:
        return {**place, "id": name, "name": name, "segment": segment, "messages": messages, "message": name, **fields}

    def summarise(name: str, segment: int, messages: int, *replaced: int) -> dict[str, Any]:
        end = dict(zip(("segment", "messages"), replaced, strict=True))
        return put(name, segment, messages, kind="summary", replaced={**end, "message": "end"})

    data = {
        "segments": [
            {"id": 0, "parent": None, "from": 0, "message": None},
            *({"id": number, "parent": 0, "from": begin, "message": "fork"} for number, begin in ((1, 6), (2, 2))),
            {"id": 3, "parent": None, "from": 0, "message": None},
        ],
        "branches": [put("main", 3, 3, current=True), put("side", 1, 8, current=False)],
        "checkpoints": [put("shared", 0, 2), put("old", 0, 9), put("between", 2, 5)],
        "moves": [summarise("first", 2, 3, 0, 9), summarise("second", 3, 1, 2, 6)],
        **{"branch_count": 2, "elsewhere": [], "alternatives": [], "removed": None},
    }
    rows, edges = lay_out(tab, data)
    assert [(row["key"], row["lane"], row["line"]) for row in rows] == [
        ("checkpoint:shared", 0, "replaced"),
        ("fork:0:6", 0, "replaced"),
        ("branch:side", 1, "other"),
        ("checkpoint:old", 0, "replaced"),
        ("move:first", 0, "replaced"),
        ("checkpoint:between", 0, "replaced"),
        ("move:second", 0, "current"),
        ("branch:main", 0, "current"),
    ]
    assert [(edge["from"], edge["to"]) for edge in edges if edge["line"] == "current"] == [(6, 7)]
    exported = [(row.label.text if row.label else "", row.lane, row.line, row.edge) for row in lay_out_export(data)]
    lines = [edge["line"] for edge in edges]  # each to the row after it
    names = [row["item"]["value"]["name"] if row["item"] else "" for row in rows]
    assert exported[1:] == [  # the export has a row for the beginning as well
        (name, row["lane"], row["line"], line) for name, row, line in zip(names, rows, ["replaced", *lines], strict=True)
    ]


def lay_out_export(data: dict[str, Any]) -> list[history_svg.Row]:
    """Lay out the same tree as the export as HTML does."""
    kinds = {"moves": "summary", "checkpoints": "checkpoint", "branches": "branch"}
    labels = [
        ((each["segment"], each["messages"]), history_svg.Label("here" if each.get("current") else kind, each["name"]))
        for name, kind in kinds.items()
        for each in data[name]
    ]
    forks = {each["id"]: each["parent"] is not None and Fork(each["parent"], each["from"], "") for each in data["segments"]}
    replaced = [(move, move["replaced"]) for move in data["moves"]]
    summaries = [((it["segment"], it["messages"]), (end["segment"], end["messages"])) for it, end in replaced]
    return history_svg.lay_out(labels, {number: fork or None for number, fork in forks.items()}, summaries)


def test_a_checkpoint_and_the_branch_that_ends_with_it_are_one_row(tab: Page) -> None:
    """At the current position; and on another branch, where one branch alone ends."""

    def put(name: str, segment: int, messages: int, **fields: Any) -> dict[str, Any]:
        place = {"segment": segment, "messages": messages, "message": f"{segment} {messages}"}
        return {"id": name, "name": name, "created_by": "user", "pinned": False, "here": False, **place, **fields}

    data = {
        "segments": [
            {"id": 0, "parent": None, "from": 0, "message": None},
            *({"id": number, "parent": 0, "from": 2, "message": "0 2"} for number in (1, 2)),
        ],
        "branches": [
            put("main", 0, 6, current=True),
            *(put(name, 0, 4, current=False) for name in ("past",)),
            put("alone", 1, 6, current=False),
            *(put(name, 2, 6, current=False) for name in ("one", "two")),
        ],
        **{"branch_count": 5, "moves": [], "alternatives": [], "removed": None},
        "checkpoints": [put("own", 0, 4), put("stand", 0, 6, here=True)],
        "elsewhere": [put("theirs", 1, 6), put("shared", 2, 6)],
    }
    layout = tab.evaluate("data => layOutHistory(data)", data)
    rows = {row["key"]: (row["branch"] or {}).get("name") for row in layout["rows"] if row["item"]}
    assert rows == {
        **{"checkpoint:own": None, "branch:past": "past", "checkpoint:stand": "main", "checkpoint:theirs": "alone"},
        **{"checkpoint:shared": None, "branch:one": "one", "branch:two": "two"},
    }
    found = """data => {
      const { rows, numbers, here } = layOutHistory(data);
      return ["branch:main", "branch:alone", "branch:past"].map((key) => rows[numbers.get(key)].key).concat(rows[here].key);
    }"""
    assert tab.evaluate(found, data) == ["checkpoint:stand", "checkpoint:theirs", "branch:past", "checkpoint:stand"]


def test_a_removed_checkpoint_that_another_branch_has_is_there_once(tab: Page) -> None:
    place = {"segment": 0, "message": "m", "created_by": "user", "pinned": False, "here": False}
    shared, lost = ({**place, "messages": count, "id": name, "name": name} for name, count in (("Shared", 4), ("Lost", 6)))
    branches = [{**place, "messages": 2, "id": "main", "name": "main", "current": True}]
    branches += [{**place, "messages": 5, "id": "side", "name": "side", "current": False}]
    data = {
        "segments": [{"id": 0, "parent": None, "from": 0, "message": None}],
        **{
            "branches": branches,
            "branch_count": 2,
            "checkpoints": [],
            "elsewhere": [shared],
            "moves": [],
            "alternatives": [],
        },
        "removed": {**place, "messages": 6, "count": 4, "checkpoints": [shared, lost]},
    }
    rows, _ = lay_out(tab, data)
    assert [row["item"]["value"]["name"] for row in rows if row["kind"] == "checkpoint"] == ["Shared", "Lost"]


def test_keys_lead_to_the_rows_that_they_name(tab: Page) -> None:
    """Two branches part from the current one at message 2, a third from one of these at message 4."""
    place = {"created_by": "user", "pinned": False, "here": False}

    def put(name: str, segment: int, messages: int) -> dict[str, Any]:
        return {
            **place,
            "id": name,
            "name": name,
            "segment": segment,
            "messages": messages,
            "message": f"{segment} {messages}",
        }

    def fork(number: int, parent: int, length: int) -> dict[str, Any]:
        return {"id": number, "parent": parent, "from": length, "message": f"{parent} {length}"}

    main = {**put("main", 0, 6), "current": True}
    data = {
        "segments": [fork(0, 0, 0) | {"parent": None, "message": None}, fork(1, 0, 2), fork(2, 0, 2), fork(3, 1, 4)],
        "branches": [main, *({**put(f"b{number}", number, 6), "current": False} for number in (1, 2, 3))],
        **{"branch_count": 4, "elsewhere": [], "moves": [], "alternatives": [], "removed": None},
        "checkpoints": [put("start", 0, 1)],
    }
    rows, _ = lay_out(tab, data)
    names = [row["item"]["value"]["name"] if row["item"] else row["key"] for row in rows]
    assert names == ["start", "fork:0:2", "b2", "fork:1:4", "b1", "b3", "main"]
    assert [row["lane"] for row in rows] == [0, 0, 1, 1, 2, 1, 0]

    def lead(key: str) -> list[str | None]:
        """Return the row that a key leads to from each row; None: from there it leads nowhere."""
        found = tab.evaluate(
            """([data, key]) => {
              const layout = layOutHistory(data);
              return layout.rows.map((_, number) => findNeighbour(layout, number, key));
            }""",
            [data, key],
        )
        return [names[number] if number >= 0 else None for number in found]

    assert lead("ArrowUp") == [None, "start", "fork:0:2", "fork:0:2", "fork:1:4", "fork:1:4", "fork:0:2"]
    assert lead("ArrowDown") == ["fork:0:2", "main", None, "b3", None, None, None]
    assert lead("ArrowLeft") == [None, None, "fork:0:2", "fork:0:2", "fork:1:4", "fork:0:2", None]
    assert lead("ArrowRight") == ["b2", "b2", "b1", "b1", None, "b1", "b3"]
    assert lead("Home") == ["start"] * 7
    assert lead("End") == ["main"] * 7
    assert lead("n") == ["fork:0:2", "fork:1:4", "fork:1:4", "fork:0:2", "fork:0:2", "fork:0:2", "fork:0:2"]
    assert tab.evaluate("data => findNeighbour(layOutHistory(data), 0, 'x')", data) is None
