"""Reasoning in the tags of local models is separated from the answer."""

from agent.models.think_tags import split_thought


def test_reasoning_without_an_end_stays_reasoning() -> None:
    assert split_thought("<think>for ever") == ("", "for ever")
