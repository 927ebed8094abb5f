"""A value of a message is computed once, as long as the message is in memory."""

from typing import Any

from hypothesis import given
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import SecretStr

from agent.context.request import add_numbers, build_request, complete_tool_pairs
from agent.message_cache import MessageCache, cache_by_message
from agent.models.catalog import load_chat_model
from agent.models.keys import ProviderKeys
from tests.agent.context.test_request import paths, stored

PATH = [
    HumanMessage("six by seven?", id="msg_0"),
    AIMessage("", tool_calls=[{"name": "calculator", "args": {"expression": "6*7"}, "id": "a"}], id="msg_1"),
    ToolMessage("42", tool_call_id="a", name="calculator", id="msg_2"),
    AIMessage("It is 42.", id="msg_3"),
]


def load_model() -> Any:
    return load_chat_model("openai:some", ProviderKeys(openai_api_key=SecretStr("sk-test")))


def test_a_value_is_computed_once_and_released_with_its_message() -> None:
    computed: list[str] = []

    def measure_text(message: BaseMessage) -> int:
        computed.append(message.text)
        return len(message.text)

    measure = cache_by_message(measure_text)
    message = HumanMessage("hello")
    assert (measure(message), measure(message), measure(HumanMessage("hello"))) == (5, 5, 5)
    assert computed == ["hello", "hello"], "equal messages are two"
    cache = MessageCache[int]()
    cache.keep(message, 5)
    del message
    assert len(cache) == 0


@given(paths)
def test_a_request_that_is_complete_stays_the_same_messages(path: Any) -> None:
    complete = complete_tool_pairs(build_request("Be brief.", stored(path)))
    again = complete_tool_pairs(complete)
    assert all(one is other for one, other in zip(complete, again, strict=True))


def test_the_same_messages_are_converted_once_for_a_model() -> None:
    model, unused = (load_model() for _ in range(2))
    numbered = add_numbers([SystemMessage("Be brief."), *PATH], "msg")
    first, second = (model._get_request_payload(numbered)["messages"] for _ in range(2))
    assert first == second == unused._get_request_payload(numbered)["messages"]
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert all(one is other for one, other in zip(numbered[1:], add_numbers(PATH, "msg"), strict=True))
    assert add_numbers(PATH, "short")[0].text == "[m0] six by seven?"
