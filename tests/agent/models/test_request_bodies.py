"""The body of a request is what the client would have written, and the JSON of an entry is written once."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._utils._json import openapi_dumps

from agent.models import request_bodies
from agent.models.request_bodies import KeptEntry, write_body

_values = st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]))
_objects = st.dictionaries(st.sampled_from("abc"), _values)


@given(_objects, st.lists(_objects | st.builds(KeptEntry, _objects)) | st.none())
def test_a_body_is_what_the_client_would_write(others: dict[str, Any], messages: Any) -> None:
    body = {**others, "messages": messages}
    assert write_body(body) == openapi_dumps(body)
    assert write_body(others) == openapi_dumps(others)


def test_the_json_of_an_entry_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = KeptEntry(role="user", content="hello")
    first = write_body({"model": "some", "messages": [entry]})
    monkeypatch.setattr(
        request_bodies, "_to_json", lambda value: json.dumps(value, separators=(",", ":")).encode() * (value is not entry)
    )
    assert write_body({"model": "some", "messages": [entry]}) == first
