"""Requests that no page sends: Dash never sees them, and they leave no traceback."""

import asyncio
import copy
import json
import logging
import random
from pathlib import Path
from typing import Any

import httpx
import pytest

from checkpoints.values.limits import MAX_MESSAGE_CHARS
from components import page_state
from server.dash_requests import CALLBACK_PATH, MAX_REQUEST_VALUES, is_callback_request
from server.request_bodies import has_more_separators
from tests.rounds import Rounds
from tests.running_app import opened, post_json, written_properties

BODIES = (b"", b"null", b"[]", b"{}", b'{"output":1}', b'{"output":"a.b"}', b"\xff", b"[" * 100_000, b"NaN")
FILES = ("dash/%2e%2e/x.js", "dash/..%2fx.js", "dash/../../x.js", "nope/x.js", "dash/nope.js", "os/x.js", "", "dash/%00")
STRANGE: tuple[Any, ...] = (None, 0, "", "x", [], {}, [None], {"id": 1}, True, -1e308, "\u0000", [[]] * 3)


def test_a_body_that_is_no_request_and_a_file_that_is_none_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            for headers in ({"content-type": "application/json"}, {}):
                answers = [await browser.post(CALLBACK_PATH, content=body, headers=headers) for body in BODIES]
                assert [answer.status_code for answer in answers] == [400] * len(BODIES)
            paths = [f"/_dash-component-suites/{name}" for name in FILES]
            assert {(await browser.get(path)).status_code for path in paths} == {404}
            page = (await browser.get("/")).text
            [script] = [part.partition('"')[0] for part in page.split('src="') if "dash_renderer" in part.partition('"')[0]][
                :1
            ]
            assert (await browser.get(script)).status_code == 200

    with caplog.at_level(logging.ERROR):
        asyncio.run(story())
    assert caplog.records == []


def test_a_request_of_more_values_than_the_limit_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            dependencies = (await browser.get("/_dash-dependencies")).json()
            request = make_request(find_preview(dependencies))
            request["more"] = [0] * (MAX_REQUEST_VALUES - sum(map(json.dumps(request).count, "[{,")) - 1)
            assert (await post(browser, request)).status_code != 400
            request["more"] += [0]
            assert (await post(browser, request)).status_code == 400

    asyncio.run(story())


@pytest.mark.parametrize("text", ["[" * 9, '"' * 9, "\\" * 9, '\\"[{,"\\', 'a"],["b'])
def test_brackets_and_commas_within_texts_are_no_values(text: str) -> None:
    body = json.dumps({text: [text, {"a": text}], "b": text}).encode()
    assert not has_more_separators(body, 5)  # of the braces, the bracket and two commas
    assert has_more_separators(body, 4)


def test_quotes_alone_and_another_encoding_are_refused_and_a_text_without_end_is_left_to_the_parser() -> None:
    assert has_more_separators(b'"' * 41, 10)
    assert has_more_separators('["\u0122", [], []]'.encode("utf-16-le"), 100)
    assert not has_more_separators(b'"[[[[', 1)


def test_the_body_of_a_callback_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse, times = json.loads, list[int]()

    def note_and_parse(text: Any, **options: Any) -> Any:
        times.append("this one" in str(text))
        return parse(text, **options)

    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            dependencies = (await browser.get("/_dash-dependencies")).json()
            request = make_request(find_preview(dependencies)) | {"more": "this one"}
            monkeypatch.setattr(json, "loads", note_and_parse)
            assert (await post(browser, request)).status_code != 400

    asyncio.run(story())
    assert sum(times) == 1


@pytest.mark.parametrize("letter", ["x", "\x01", "\ud800", "🎈", ","])
def test_a_message_of_the_most_characters_fits_whatever_they_are_beside_a_text_that_filled_the_composer(
    letter: str, tmp_path: Path
) -> None:
    async def story() -> int:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            text = letter * (
                MAX_MESSAGE_CHARS // len(letter.encode("utf-16-le", "surrogatepass")) * 2
            )  # of the page's units
            head = {"tick": 1, "fill": page_state.fill_composer("a", 1, text)}
            action = {"type": "send", "request_id": "1", "version": 1, "n": 1, "text": text, "choice": {"instructions": ""}}
            body = {"pathname": "/", "update": head, "action": action}
            answer = await post_json(browser, "/api/actions/composer-panel", body)
            assert answer.json()["composer-panel"]["reply"]["ok"], answer.text
            return answer.status_code

    assert asyncio.run(story()) == 200


def test_a_text_that_could_not_be_sent_does_not_fill_the_composer() -> None:
    longest = "x" * MAX_MESSAGE_CHARS
    assert page_state.fill_composer("a", 1, longest)["text"] == longest
    assert page_state.fill_composer("a", 1, longest + "x")["text"] == ""


REVOKE = {"inputs": [{"id": '{"row":["ALL"],"type":"revoke"}', "property": "n_clicks"}], "state": []}


def name_rows(*rows: Any, kind: str = "revoke", name: str = "n_clicks") -> dict[str, Any]:
    given = [[{"id": {"type": kind, "row": row}, "property": name, "value": None} for row in rows]]
    return {"output": "list.children", "outputs": {"id": "list", "property": "children"}, "inputs": given}


@pytest.mark.parametrize(
    ("request_body", "is_one"),
    [
        (name_rows(), True),
        (name_rows("one", "two"), True),
        (name_rows(1), False),
        (name_rows(["ALL"]), False),
        (name_rows("one", kind="erase"), False),
        (name_rows("one", name="children"), False),
        ({**name_rows(), "inputs": [{"id": "one", "property": "n_clicks"}]}, False),
        ({**name_rows(), "inputs": [[None]]}, False),
        ({**name_rows(), "inputs": [[{"id": "one", "property": "n_clicks"}]]}, False),
        ({**name_rows(), "inputs": [[{"id": {"type": "revoke"}, "property": "n_clicks"}]]}, False),
    ],
)
def test_the_rows_of_a_list_are_those_of_its_pattern(request_body: dict[str, Any], is_one: bool) -> None:
    assert is_callback_request(request_body, {"list.children": {"callback": "revoke", **REVOKE}}) is is_one


def test_no_change_of_a_request_is_an_error_of_the_server(
    tmp_path: Path, rounds: Rounds, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            requests = [make_request(each) for each in (await browser.get("/_dash-dependencies")).json()]
            chance = random.Random(7)
            for _ in range(rounds(300)):
                request = spoil(chance.choice(requests), chance)
                answer = await post(browser, request)
                assert answer.status_code < 500, request
                assert not [each for each in caplog.records if each.levelno >= logging.ERROR], request

    asyncio.run(story())


@pytest.mark.parametrize("address", [1, [], {}, True, ["/t/x"]])
def test_an_address_that_is_no_text_is_a_bad_request(tmp_path: Path, address: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            dependencies = (await browser.get("/_dash-dependencies")).json()
            parts = [
                each for each in dependencies if "pathname" in {one["property"] for one in each["inputs"] + each["state"]}
            ]
            asking = [each for each in parts if not each["clientside_function"]]
            answers = [await post(browser, make_request(each, {"url.pathname": address})) for each in asking]
            assert {answer.status_code for answer in answers} == {400}

    with caplog.at_level(logging.ERROR):
        asyncio.run(story())
    assert caplog.records == []


def find_preview(dependencies: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the callback of a file to import, which may be none."""
    return next(each for each in dependencies if each["inputs"][0]["id"] == "import-file")


def make_request(part: dict[str, Any], values: dict[str, Any] | None = None) -> dict[str, Any]:
    """The body that the page sends for a callback."""

    def fill(parts: list[Any]) -> list[Any]:
        return [fill_rows(each) if each["id"].startswith("{") else fill_one(each) for each in parts]

    def fill_one(part: Any) -> Any:
        return {**part, "value": (values or {}).get(f"{part['id']}.{part['property']}")}

    def fill_rows(part: Any) -> Any:
        rows = [{**json.loads(part["id"]), "row": each} for each in ("one", "another")]
        return [{"id": each, "property": part["property"], "value": 1} for each in rows]

    names = [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in written_properties(part)]
    changed = [f"{each['id']}.{each['property']}" for each in part["inputs"]]
    body = {"inputs": fill(part["inputs"]), "state": fill(part["state"]), "changedPropIds": changed}
    return {"output": part["output"], "outputs": names if part["output"].startswith("..") or not names else names[0], **body}


def spoil(request: Any, chance: random.Random) -> Any:
    """A copy of a request with up to three changes."""
    spoiled = copy.deepcopy(request)
    for _ in range(chance.randint(1, 3)):
        change(spoiled, chance)
    return spoiled


def change(request: Any, chance: random.Random) -> None:
    """Put something strange, or nothing, at a random place."""
    while True:
        keys = list(request) if isinstance(request, dict) else list(range(len(request)))
        if not keys:
            return
        key = chance.choice(keys)
        if isinstance(request[key], (dict, list)) and request[key] and chance.random() < 0.7:
            request = request[key]
        elif chance.random() < 0.3:
            del request[key]
            return
        else:
            request[key] = copy.deepcopy(chance.choice(STRANGE))
            return


async def post(browser: httpx.AsyncClient, request: Any) -> httpx.Response:
    return await browser.post(CALLBACK_PATH, content=json.dumps(request), headers={"content-type": "application/json"})


@pytest.mark.parametrize("path", ["/api/panels", "/api/actions/threads"])
def test_the_values_of_every_json_body_are_counted_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    parsed, loads = list[int](), json.loads

    def note_and_load(text: bytes | str, **hooks: Any) -> Any:
        parsed.append(len(text))
        return loads(text, **hooks)

    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            for headers in ({"content-type": "application/json"}, {"content-type": "text/plain"}):
                body = b"[" + b"[]," * MAX_REQUEST_VALUES + b"0]"
                monkeypatch.setattr(json, "loads", note_and_load)
                assert (await browser.post(path, content=body, headers=headers)).status_code == 400
                assert max(parsed, default=0) < len(body)

    asyncio.run(story())


def test_files_and_forms_are_no_json(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            content = b"," * 2 * MAX_REQUEST_VALUES
            assert (await browser.post("/api/uploads/import", content=content)).status_code == 200
            form = {"format": "nope", "redact": "NaN" + "," * 2 * MAX_REQUEST_VALUES}
            assert (await browser.post("/api/threads/x/export", data=form)).text == "There is no such format."

    asyncio.run(story())
