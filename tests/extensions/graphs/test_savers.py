"""Graphs with a channel of the same name share a saver, which knows the last steps of their conversations."""

import pytest

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from extensions.graphs import savers
from extensions.graphs.message_channel import MessagesChannel
from extensions.graphs.savers import Savers


def test_a_saver_is_built_only_for_a_new_channel(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    class CountedSaver(WaymarkSaver):
        def __init__(self, store: Store, *, messages: str, takes_unfit_messages: bool) -> None:
            built.append(messages)
            super().__init__(store, messages=messages, takes_unfit_messages=takes_unfit_messages)

    monkeypatch.setattr(savers, "WaymarkSaver", CountedSaver)
    found = Savers(memory_store)
    usual, chat = MessagesChannel("messages", is_input=True), MessagesChannel("chat", is_input=True)
    added = MessagesChannel("log", is_input=False)
    first = [found.find_saver(channel) for channel in (usual, chat, added, None)]
    assert [found.find_saver(channel) for channel in (usual, chat, added, None)] == first
    assert first[0] is found.usual
    assert first[2] is first[3] is not first[1]
    assert built == ["messages", "chat", ""]
