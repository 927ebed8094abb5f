"""What the database finds and counts on a path is what a reading of all of it finds."""

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints import MAIN, Message, NewMessage, Store
from checkpoints.values import serde

CALL = {"name": "look", "args": {"of": 'tool_calls":[{'}, "id": "a"}
PART = {"type": "file", "file": f"sha256:{'0' * 64}", "name": "n.txt", "mime_type": "text/plain", "size": 5}
MARKED = HumanMessage("note", additional_kwargs={"time_travel": {"kind": "goto"}})
SAID = [
    (MAIN, HumanMessage("hello")),
    (MAIN, AIMessage('It is "tool_calls":[{"name":"x"}] and "file":"sha256:0" and "type":"tool"}')),
    (MAIN, HumanMessage([{"type": "text", "text": "see é🙂"}, PART])),
    (MAIN, AIMessage("", tool_calls=[CALL])),
    ("ben", HumanMessage("well?")),
    ("ben", AIMessage("well")),
    (MAIN, ToolMessage("sunny", tool_call_id="a", name="look")),
    (MAIN, AIMessage("sunny")),
    (MAIN, MARKED),
    (MAIN, AIMessage("", invalid_tool_calls=[{"name": "x", "args": "{", "id": "b", "error": None}])),
]


def write_branched(store: Store) -> tuple[str, list[Message]]:
    """Write a path of three segments."""
    thread_id = store.create_thread().id
    for cut in (4, 7, len(SAID)):
        path = store.list_messages(thread_id)
        store.fork(thread_id, path[-1].id if path else None)
        new = [NewMessage(serde.to_body(message), agent=who, run_id="r") for who, message in SAID[len(path) : cut]]
        store.append(thread_id, new)
        store.fork(thread_id, store.list_messages(thread_id)[-2].id)
        store.append(thread_id, new[-1:])
    return thread_id, store.list_messages(thread_id)


def has_outside(message: Message) -> bool:
    data: dict[str, Any] = message.body["data"]
    return message.type == "tool" or isinstance(data["content"], list) or bool(data.get("additional_kwargs"))


def is_answer(message: Message) -> bool:
    data = message.body["data"]
    return message.type == "ai" and not (data.get("tool_calls") or data.get("invalid_tool_calls"))


def test_messages_with_something_from_outside_are_found(store: Store) -> None:
    thread_id, path = write_branched(store)
    assert len({message.segment for message in path}) > 1
    for before in range(len(path) + 1):
        wanted = [message.id for message in path[:before] if has_outside(message)]
        for limit in (1, 2, 10):
            found, is_all = store.list_outside_messages(
                thread_id, before=before, limit=limit, marks=["time_travel"], has_origins=False
            )
            assert is_all == (len(wanted) <= limit)
            assert [message.id for message in found] == wanted[-limit:]
            assert not any(message.damaged for message in found)


def test_the_newest_message_that_no_run_wrote_is_found(store: Store) -> None:
    thread_id, path = write_branched(store)
    by_hand = [NewMessage(serde.to_body(HumanMessage(text))) for text in ("one", "two")]
    store.append(thread_id, by_hand)
    for before, wanted in ((len(path), []), (len(path) + 1, ["one"]), (len(path) + 2, ["two"])):
        found, _ = store.list_outside_messages(thread_id, before=before, limit=1, marks=[], has_origins=True)
        assert [message.langchain.text for message in found if message.run_id is None] == wanted


def test_answers_are_found_by_their_number(store: Store) -> None:
    thread_id, path = write_branched(store)
    for agent in (MAIN, "ben", "nobody"):
        for before in range(len(path) + 1):
            answers = [message for message in path[:before] if message.agent == agent and is_answer(message)]
            assert store.count_answers(thread_id, agent, before=before) == len(answers)
            for n in (1, 2, 3, -1, -2, -3):
                found = store.find_answer(thread_id, agent, n, before=before)
                wanted = answers[n - 1 if n > 0 else n] if abs(n) <= len(answers) else None
                assert (found and found.id) == (wanted and wanted.id)


def test_messages_of_an_agent_are_measured_and_read_alone(store: Store) -> None:
    thread_id, path = write_branched(store)
    for agent in (MAIN, "ben"):
        for first, before in ((0, len(path)), (3, 8), (5, 5), (6, 5)):
            own = [message for message in path[first:before] if message.agent == agent]
            size = store.measure_messages(thread_id, agent, first=first, before=before)
            assert size.count == len(own)
            assert size.byte_count == sum(len(serde.to_canonical(message.body).encode()) for message in own)
        assert store.list_messages(thread_id, agent=agent) == [message for message in path if message.agent == agent]


def test_a_removal_is_counted_without_its_prompt(store: Store) -> None:
    thread_id, path = write_branched(store)
    store.save(thread_id)
    for message_id in (None, path[2].id, path[-1].id):
        previewed = store.preview_message_removal(thread_id, message_id)
        counted = store.count_removal(thread_id, message_id)
        assert (counted.messages, counted.checkpoints, counted.agents, counted.first_prompt) == (
            previewed.messages,
            previewed.checkpoints,
            previewed.agents,
            "",
        )
