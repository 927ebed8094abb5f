"""Whole answers of OpenAI's APIs as chunks of a stream."""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import BaseModel

from agent.models.finish_reasons import convert_to_chunk
from agent.models.refusal_body import ReportedFailure


async def generate_whole(
    model: BaseChatOpenAI, messages: list[BaseMessage], *args: Any, **kwargs: Any
) -> ChatGenerationChunk:
    try:
        return convert_result(await model._agenerate(messages, *args, **kwargs, stream=False))
    # The library raises it with the answer's error inside.
    except ValueError as error:
        reported = error.args[0] if type(error) is ValueError and error.args else None
        body = reported.model_dump() if isinstance(reported, BaseModel) else reported
        if not isinstance(body, dict):
            raise
        raise ReportedFailure(body) from error


def convert_result(result: ChatResult) -> ChatGenerationChunk:
    answer = result.generations[0]
    assert isinstance(answer.message, AIMessage)
    info = {"model_name": (result.llm_output or {}).get("model_name"), **(answer.generation_info or {})}
    return ChatGenerationChunk(message=convert_to_chunk(answer.message), generation_info=info)
