"""The conversation as it stands, for people and for other programs."""

import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from markdown_it import MarkdownIt

from checkpoints import MessageStatus, NewMessage, Store
from checkpoints.interchange import text_exports
from checkpoints.interchange.export_options import ExportOptions
from checkpoints.interchange.redaction import Redaction
from checkpoints.values import serde
from checkpoints.values.reasoning import Reasoning
from tests.checkpoints.conversations import talked


def call(identifier: str, name: str = "calculator") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {"expression": "6*7"}, "id": identifier}])


def result(identifier: str, text: str = "42") -> ToolMessage:
    return ToolMessage(text, tool_call_id=identifier, name="calculator")


def told(store: Store, *messages: BaseMessage, status: MessageStatus = MessageStatus.DONE, agent: str = "main") -> str:
    """A conversation of these; the last has this status and agent."""
    thread_id = store.create_thread(title="Sums & <more>").id
    *first, last = (serde.to_body(message) for message in messages)
    store.append(thread_id, [*(NewMessage(body) for body in first), NewMessage(last, status=status, agent=agent)])
    return thread_id


def line(store: Store, thread_id: str) -> list[dict[str, Any]]:
    text = text_exports.export_jsonl(store, thread_id)
    assert text.count("\n") == 1
    messages: list[dict[str, Any]] = json.loads(text)["messages"]
    return messages


def test_markdown_says_who_said_what_with_tool_calls_folded(store: Store) -> None:
    thread_id = told(store, HumanMessage("6*7?"), call("1"), result("1"), AIMessage("It is **42**."))
    assert text_exports.export_markdown(store, thread_id) == (
        "# Sums & <more>\n\n## You\n\n6*7?\n\n## Agent\n\n<details>\n<summary>Tool: calculator</summary>\n\nArguments:\n\n"
        '```json\n{\n  "expression": "6*7"\n}\n```\n\nResult:\n\n```\n42\n```\n\n</details>\n\n## Agent\n\nIt is **42**.\n'
    )


def test_markdown_holds_the_active_path_alone(store: Store) -> None:
    thread_id = talked(store, "a", "b", "c", "d")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id, keep_future=True)
    assert text_exports.export_markdown(store, thread_id) == "# Talk\n\n## You\n\na\n\n## Agent\n\nb\n"


def test_nothing_in_a_text_swallows_what_follows(store: Store) -> None:
    hostile = "```\n</details>\n````\n"
    thread_id = told(
        store, call("1"), result("1", hostile), AIMessage("see\n```python\nx = 1"), AIMessage("last"), agent="helper"
    )
    tokens = MarkdownIt().parse(text_exports.export_markdown(store, thread_id))
    headings = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    assert headings == ["Sums & <more>", "Agent", "Agent", "Agent · helper"]
    assert hostile + "\n" in [token.content for token in tokens if token.type == "fence"]


def test_a_cut_off_answer_is_marked(store: Store) -> None:
    thread_id = told(store, HumanMessage("a"), AIMessage("b"), status=MessageStatus.PARTIAL)
    assert text_exports.export_markdown(store, thread_id).endswith("b\n\n*This message was cut off.*\n")
    assert line(store, thread_id)[-1] == {"role": "assistant", "content": "b", "weight": 0}


def test_jsonl_is_what_openai_takes(store: Store) -> None:
    thread_id = told(store, HumanMessage("6*7?"), call("1"), result("1"), AIMessage("42"))
    function = {"name": "calculator", "arguments": '{"expression": "6*7"}'}
    assert line(store, thread_id) == [
        {"role": "user", "content": "6*7?"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "1", "content": "42"},
        {"role": "assistant", "content": "42"},
    ]


def test_in_jsonl_each_call_has_its_result_and_each_result_its_call(store: Store) -> None:
    two = AIMessage("two", tool_calls=[{"name": "f", "args": {}, "id": i} for i in ("1", "2")])
    thread_id = told(store, result("0"), two, result("2"), result("2"), HumanMessage("b"), result("1"), call("3"))
    made = line(store, thread_id)
    assert [(m["role"], m.get("tool_call_id")) for m in made] == [("assistant", None), ("tool", "2"), ("user", None)]
    assert [c["id"] for c in made[0]["tool_calls"]] == ["2"]


def test_a_system_message_from_a_file_is_no_instruction_in_jsonl(store: Store) -> None:
    thread_id = told(store, SystemMessage("obey"), HumanMessage("a"), AIMessage("b"))
    assert [m["role"] for m in line(store, thread_id)] == ["user", "assistant"]
    assert "## Note\n\nobey" in text_exports.export_markdown(store, thread_id)


def test_what_is_redacted_is_in_no_export(store: Store) -> None:
    thread_id = told(store, HumanMessage("my secret"), call("1"), result("1", "classified"), AIMessage("ok"))
    for write in (text_exports.export_markdown, text_exports.export_jsonl):
        text = write(store, thread_id, ExportOptions(Redaction(True, ("secret",))))
        assert "secret" not in text
        assert "classified" not in text
        assert "calculator" in text


def test_an_empty_conversation_can_be_read(store: Store) -> None:
    thread_id = store.create_thread(title="Empty").id
    assert text_exports.export_markdown(store, thread_id) == "# Empty\n"
    assert line(store, thread_id) == []


def test_markdown_folds_reasoning_above_its_answer_and_training_data_has_none(store: Store) -> None:
    answer = AIMessage("It is 42.", additional_kwargs=Reasoning("A ``` product.").to_kwargs())
    thread_id = told(store, HumanMessage("6*7?"), answer)
    folded = "<details>\n<summary>Reasoning</summary>\n\n````\nA ``` product.\n````\n\n</details>\n\nIt is 42."
    assert folded in text_exports.export_markdown(store, thread_id)
    assert "product" not in json.dumps(line(store, thread_id))


def test_markdown_names_the_graph_that_wrote_a_human_message(store: Store) -> None:
    thread_id = told(store, HumanMessage("6*7?"), HumanMessage("Summary.", additional_kwargs={"waymark_by_graph": True}))
    assert text_exports.export_markdown(store, thread_id).endswith("## You\n\n6*7?\n\n## Graph\n\nSummary.\n")
