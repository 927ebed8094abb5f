"""The demo model summarises and tries several ways, always the same, and says that it is the demo."""

import json

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from agent.context.prompts import COMPACTION_PROMPT
from agent.demo.model import DemoChatModel
from agent.demo.reading import describe_attempts, parse_attempts
from agent.demo.side_calls import DEMO_SUMMARY_LABEL
from agent.preparation.compaction import build_summary_question

DEMO = DemoChatModel(seconds_per_token=0)


def said(role: str, text: str) -> str:
    return json.dumps({"role": role, "text": text})


def summarised(*entries: str, written: str = "") -> str:
    asked = build_summary_question(entries, written, "")
    return str(DEMO.invoke([SystemMessage(COMPACTION_PROMPT), HumanMessage(asked)]).text)


def test_it_keeps_first_sentences_and_numbers() -> None:
    text = summarised(said("user", "Hello there. How are you?"), said("assistant", "Fine. It is 21 degrees. Nothing else."))
    assert text == f"{DEMO_SUMMARY_LABEL}\n- You: Hello there.\n- Agent: Fine. It is 21 degrees."


def test_what_it_wrote_of_a_portion_stays_in_front() -> None:
    assert summarised(said("user", "More."), written=summarised(said("user", "Hello."))).splitlines()[1:] == [
        "- You: Hello.",
        "- You: More.",
    ]


def test_it_tries_the_ways_that_it_is_told_when_it_can() -> None:
    asked = [HumanMessage("Try two ways: tea; coffee.")]
    answer = DEMO.model_copy(update={"tool_names": frozenset({"fork"})}).invoke(asked)
    assert isinstance(answer, AIMessage)
    assert [call["args"] for call in answer.tool_calls] == [{"prompts": ["tea", "coffee"]}]
    assert not DEMO.invoke(asked).tool_calls
    assert parse_attempts("I tried both.") == []


def test_it_tells_what_came_of_each_way() -> None:
    result = json.dumps([{"branch": "tea", "answer": "Hot."}, {"branch": "coffee", "failed": "No."}])
    assert describe_attempts(result).splitlines()[-2:] == ["1. **tea**: Hot.", "2. **coffee**: failed: No."]
    assert describe_attempts("Neither, thanks.") == "Neither, thanks."
