"""A long request is prepared on a thread: what is sent is the same, also where a server refuses a part of it."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from agent.models.reasoning import restore_reasoning
from agent.models.request_bodies import find_prepared, prepare_request
from checkpoints.values.reasoning import Reasoning
from tests.agent.running import model_at
from tests.fakes.openai import FakeOpenAI, Fault, Say

TOOL = {"name": "f", "description": "Do it.", "parameters": {"type": "object", "properties": {}}}
REASONING = Reasoning("Why?", source="s", text_field="reasoning_content")
ANSWER = AIMessage("See.", tool_calls=[{"name": "f", "args": {}, "id": "1"}])
WITH_REASONING = ANSWER.model_copy(update={"additional_kwargs": REASONING.to_kwargs()})


def write_request(answer: AIMessage, number: int) -> list[AnyMessage]:
    result = ToolMessage("42", tool_call_id="1")
    return [
        SystemMessage("Be brief."),
        HumanMessage("hi"),
        HumanMessage("you"),
        answer,
        result,
        HumanMessage(f"And {number}?"),
    ]


def list_sent(spec: str, *answers: Any, prepares: bool, said: AIMessage = ANSWER) -> list[dict[str, Any]]:
    """Ask a model twice, and return the bodies of its requests."""

    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake, spec) as model:
            for number in range(2):
                messages = restore_reasoning(write_request(said, number), "s", model)
                sent = prepare_request(model, messages) if prepares else messages
                assert (find_prepared(sent) is not None) is prepares
                assert [each.text async for each in model.bind_tools([TOOL]).astream(sent)]

    with FakeOpenAI() as fake:
        fake.reply(*answers)
        asyncio.run(story(fake))
        return fake.requests


@pytest.mark.parametrize("spec", ["openai:some", "openai:o9", "openai-responses:some"])
def test_a_prepared_request_is_sent_like_any_other(spec: str) -> None:
    sent = list_sent(spec, Say("Yes."), Say("Yes."), prepares=True)
    assert sent == list_sent(spec, Say("Yes."), Say("Yes."), prepares=False)
    entries = [each.get("input") or each["messages"] for each in sent]
    assert [len(each) for each in entries] == [6 + ("responses" in spec)] * 2


REFUSALS = {"reasoning": "", "usage": "unknown field stream_options", "roles": "roles must alternate"}


@pytest.mark.usefixtures("refusals_expected")
@pytest.mark.parametrize("kind", REFUSALS)
def test_a_prepared_request_that_is_refused_is_changed_like_any_other(kind: str) -> None:
    answers = [Fault("status", status=400, message=REFUSALS[kind])] if kind != "reasoning" else []  # it refuses that itself
    said = ANSWER if answers else WITH_REASONING
    sent = list_sent("openai:some", *answers, Say("Yes."), Say("Yes."), prepares=True, said=said)
    assert sent == list_sent("openai:some", *answers, Say("Yes."), Say("Yes."), prepares=False, said=said)
    assert [sent[0] == sent[1], len(sent)] == [False, 3 if answers else 4]
