"""The spec of an answer's model: written and read by one key, and any other value is none."""

import pytest

from checkpoints.values.answer_spec import make_spec_entry, read_spec


def test_a_spec_is_read_as_it_was_written() -> None:
    assert read_spec({"finish_reason": "stop"} | make_spec_entry("openai:gpt-5")) == "openai:gpt-5"


@pytest.mark.parametrize("metadata", [None, [], "spec", {}, {"spec": 7}, {"spec": ["demo"]}])
def test_anything_else_is_no_spec(metadata: object) -> None:
    assert read_spec(metadata) == ""
