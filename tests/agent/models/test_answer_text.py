"""The words of a refusal are the answer's text, wherever a library puts them."""

import pytest
from langchain_core.messages import AIMessage

from agent.models.answer_text import read_answer_text
from agent.models.finish_reasons import convert_to_chunk

STREAMED = AIMessage([{"type": "text", "text": "Sorry. "}, {"type": "refusal", "refusal": "I cannot do that."}, "\n"])
WHOLE = AIMessage("", additional_kwargs={"refusal": "I cannot do that."})


@pytest.mark.parametrize("message", [STREAMED, WHOLE])
def test_a_refusal_is_read_as_text(message: AIMessage) -> None:
    assert "I cannot do that." in read_answer_text(message)
    assert "I cannot do that." in read_answer_text(convert_to_chunk(message))


def test_a_refusal_beside_no_words_is_no_text() -> None:
    assert read_answer_text(AIMessage("Yes.", additional_kwargs={"refusal": None})) == "Yes."
    assert read_answer_text(AIMessage("", additional_kwargs={"refusal": None})) == ""
