"""What the page's meter is told, and that only who may see a conversation hears what it took."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent.context.prices import ModelPrice, Usage
from checkpoints import Database, NewMessage, Store, ThreadNotFoundError
from checkpoints.values import serde
from components.routes import usage
from components.views import message_view
from tests.components.views.test_message_view import path

PRICES = {"openai:small": ModelPrice(input_usd=1.0, cached_usd=0.1, output_usd=2.0)}


def answer(spec: str = "openai:small") -> AIMessage:
    usage: Any = {"input_tokens": 1_000, "output_tokens": 500, "total_tokens": 1_500}
    return AIMessage("yes", usage_metadata=usage, response_metadata={"spec": spec})


def in_store(*messages: BaseMessage) -> tuple[Store, str]:
    store = Store(Database.in_memory())
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(serde.to_body(message)) for message in messages])
    return store, thread_id


def test_an_answer_shows_what_it_took_and_its_cost_only_where_the_price_is_set() -> None:
    said = path(HumanMessage("a"), answer(), answer("openai:other"), AIMessage("no usage told"))
    shown = [view["usage"] for view in message_view.describe_messages(said, message_view.MessageExtras(prices=PRICES))]
    taken = {"input": 1_000, "cached": 0, "output": 500, "reasoning": 0}
    assert shown == [None, {**taken, "cost": 0.002}, {**taken, "cost": None}, None]


def test_what_a_conversation_took_is_what_its_path_took() -> None:
    store, thread_id = in_store(HumanMessage("a"), answer(), HumanMessage("b"), answer("openai:other"))
    assert usage.sum_figures(store, thread_id, "", PRICES).usage == Usage(
        2_000, 0, 1_000, 0, answers=2, priced=1, cost=0.002
    )
    saved = store.save(thread_id).result
    store.append(thread_id, [NewMessage(serde.to_body(answer()))])
    view = usage.describe_thread_usage(usage.sum_figures(store, thread_id, f"checkpoint:{saved}", PRICES), Usage(1))
    models = ["small: 1 answer, $0.0020", "other: 1 answer"]
    total = "2.0k tokens in, 1.0k tokens out, $0.0020"
    assert view["text"] == f"So far: {total} (without 1 answer of unknown price). {'; '.join(models)}."
    assert [each["text"] for each in view["parts"]] == [f"So far {total}", *models]
    assert [each["title"] for each in view["parts"]] == [None, "openai:small", "openai:other"]
    for _ in range(3):
        store.undo(thread_id)
    assert usage.sum_figures(store, thread_id, "", PRICES).usage == Usage()
    view = usage.describe_thread_usage(usage.sum_figures(store, thread_id, "", PRICES), Usage(1))
    assert (view["text"], view["parts"]) == ("No answer here has reported its usage.", [])
    store.database.close()


def test_places_that_were_deleted_meanwhile_have_no_usage() -> None:
    store, thread_id = in_store(HumanMessage("a"), answer())
    for place in ("checkpoint:gone", "branch:gone"):
        assert usage.sum_figures(store, thread_id, place, PRICES).usage == Usage()
    with pytest.raises(ThreadNotFoundError):
        usage.sum_figures(store, "gone", "", PRICES)
    store.database.close()
