"""Langfuse's own handler of LangChain's callbacks, for the calls of models and for the graphs of authors."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langfuse import propagate_attributes
from langfuse.langchain import CallbackHandler
from langfuse.types import TraceContext
from langgraph.errors import GraphBubbleUp
from opentelemetry.context import attach, detach

from agent.context.prices import Prices, count_usage
from agent.tracing.events import TracedCall
from checkpoints.values import serde
from checkpoints.values.answer_spec import read_spec
from extensions.tracing.span_ids import derive_trace_id
from extensions.tracing.span_writer import make_step_context

# Finds the bytes of a file as text. A match begins only at the beginning of a word, so that no text is searched twice.
_BYTES = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{400,}={0,2}")


class CallHandler(CallbackHandler):
    """The handler of a call. The call is below its step of the run, or a follow-up has its own trace."""

    def __init__(self, call: TracedCall, public_key: str, prices: Prices) -> None:
        own_trace: TraceContext = {"trace_id": derive_trace_id(name_trace(call))}
        super().__init__(public_key=public_key, trace_context=own_trace if call.follow_up else None)
        self._call = call
        self._prices = prices

    def on_chain_start(self, *given: Any, **about: Any) -> Any:
        with self._below_step():
            super().on_chain_start(*given, **about)

    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **about: Any) -> Any:
        """Show the messages in the form for traces, and link the operator's prompt."""
        prompt, shown = self._call.prompt, self._call.messages
        is_linked = prompt is not None and prompt.version is not None
        link = propagate_attributes(prompt={"name": prompt.name, "version": prompt.version}) if is_linked else nullcontext()  # type: ignore[union-attr]
        with self._below_step(), link:
            super().on_chat_model_start(serialized, messages if shown is None else [list(shown)], **about)

    @contextmanager
    def _below_step(self) -> Iterator[None]:
        """Make the step of the run the parent. With a trace context, the client would call each span its trace's first."""
        if self._call.follow_up:
            yield
            return
        token = attach(make_step_context(self._call.run_id, self._call.work_id))
        try:
            yield
        finally:
            detach(token)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **about: Any) -> Any:
        """Add what only the operator's prices and the provider's reason say."""
        last, generation = response.generations[-1][-1], self._runs.get(run_id)
        if generation is not None and isinstance(last, ChatGeneration):
            metadata = last.message.response_metadata
            counted = getattr(last.message, "usage_metadata", None) or {}
            usage = count_usage(counted, read_spec(metadata) or self._call.model, self._prices)
            costs = {"total": usage.cost} if usage.priced else None
            generation.update(metadata={"finish_reason": metadata.get("finish_reason")}, cost_details=costs)
        super().on_llm_end(response, run_id=run_id, **about)

    def on_llm_error(self, error: BaseException, **about: Any) -> Any:
        super().on_llm_error(_hide_words(error), **about)

    def on_chain_error(self, error: BaseException, **about: Any) -> None:
        super().on_chain_error(_hide_words(error), **about)

    def on_tool_error(self, error: BaseException, **about: Any) -> Any:
        super().on_tool_error(_hide_words(error), **about)

    def on_retriever_error(self, error: BaseException, **about: Any) -> Any:
        super().on_retriever_error(_hide_words(error), **about)


def name_trace(call: TracedCall) -> str:
    """Return the seed of the call's trace."""
    return f"{call.follow_up}:{call.run_id}" if call.follow_up else call.run_id


def mask_data(*, data: Any, **_: Any) -> Any:
    """Return an input, output or metadata without the bytes of files, and in characters that can be sent."""
    if isinstance(data, str):
        return _BYTES.sub(lambda found: f"({len(found[0]):,} characters)", serde.sanitize_text(data))
    if isinstance(data, Mapping):
        return {str(key): mask_data(data=value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [mask_data(data=value) for value in data]
    if isinstance(data, BaseMessage):
        return mask_data(data={"role": data.type, "content": data.content, **_describe_calls(data)})
    return data if data is None or isinstance(data, int | float) else mask_data(data=str(data))


def measure_data(*, data: Any, **_: Any) -> Any:
    """Return the size of an input, output or metadata instead of its texts."""
    if data is None or isinstance(data, bool):
        return data
    text = data if isinstance(data, str) else json.dumps(mask_data(data=data), ensure_ascii=False)
    return f"({len(text):,} characters)"


def _describe_calls(message: BaseMessage) -> dict[str, Any]:
    return {"tool_calls": message.tool_calls} if isinstance(message, AIMessage) and message.tool_calls else {}


def _hide_words(error: BaseException) -> BaseException:
    """Return an error with only its kind, since its words may hold a key, or a part of the conversation."""
    return GraphBubbleUp() if isinstance(error, GraphBubbleUp) else RuntimeError(type(error).__name__)
