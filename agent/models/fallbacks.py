"""Sends refused requests again without the refused part.

Changed terms are remembered only after a request has succeeded on them, since the refusal may have had another reason.
They are forgotten after an hour.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from pydantic import SecretStr

from agent.models.errors import iterate_causes, read_status
from agent.models.provider_words import attach_keys
from agent.models.reasoning import drop_reasoning
from agent.models.recent_refusals import RecentRefusals

Terms = TypeVar("Terms")
Chunk = TypeVar("Chunk")
_REFUSED_STATUSES = (400, 422)


class TermsMemory(Generic[Terms]):
    """The learned terms of a server. Copies of a model with other parameters share them."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    @property
    def terms(self) -> Terms:
        changes = {name: value for name, value in self._changes.items() if name in self._recent}
        return replace(self._first, **changes) if changes else self._first  # type: ignore[type-var]

    @terms.setter
    def terms(self, first: Terms) -> None:
        self._first, self._changes, self._recent = first, dict[str, Any](), RecentRefusals()

    def remember(self, before: Terms, after: Terms) -> None:
        """Store the fields in which `after` differs from `before`. Other requests may have learned other fields
        meanwhile.
        """
        if before != after:
            # Terms are dataclasses, or never change.
            names = [each.name for each in fields(after)]  # type: ignore[arg-type]
            for name in (each for each in names if getattr(after, each) != getattr(before, each)):
                self._changes[name] = getattr(after, name)
                self._recent.add(name)


@dataclass(frozen=True, slots=True)
class Attempt(Generic[Terms]):
    """One request: its messages, its terms, and its own options. With `is_bare`, it leaves the reasoning out."""

    messages: Sequence[BaseMessage]
    terms: Terms
    options: Mapping[str, Any] = field(default_factory=dict)
    is_bare: bool = False

    @property
    def has_reasoning(self) -> bool:
        return any(one is not other for one, other in zip(self.messages, drop_reasoning(self.messages), strict=True))

    def without_reasoning(self) -> "Attempt[Terms]":
        return replace(self, messages=drop_reasoning(self.messages), is_bare=True)


Send = Callable[[Attempt[Terms]], AsyncIterator[Chunk]]
FindFallback = Callable[[Attempt[Terms], Exception], Attempt[Terms] | None]


async def stream_with_fallbacks(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    memory: TermsMemory[Terms],
    send: Send[Terms, Chunk],
    find_fallback: FindFallback[Terms],
) -> AsyncGenerator[Chunk]:
    """Yield the chunks of an answer. `find_fallback` changes a refused request. Then the reasoning is left out.

    No request is sent twice. Raises the last refusal, with the model's keys attached for `read_provider_words`.
    """
    known = memory.terms
    attempt, tried, has_begun = Attempt(messages, known), [], False
    while True:
        tried.append(replace(attempt, messages=()))
        try:
            async with aclosing(send(attempt)) as chunks:  # type: ignore[type-var]
                async for chunk in chunks:
                    if not has_begun:
                        memory.remember(known, attempt.terms)
                    has_begun = True
                    yield chunk
            return
        except Exception as error:
            attach_keys(error, _list_model_keys(model))
            if has_begun or not _is_refusal(error):
                raise
            changed = [find_fallback(attempt, error), attempt.without_reasoning() if attempt.has_reasoning else None]
            following = next((each for each in changed if each and replace(each, messages=()) not in tried), None)
            if following is None:
                raise
            attempt = following


class ReasoningFallback(BaseChatModel):
    """A model of a provider's package that repeats a refused request without its reasoning."""

    async def astream(
        self, input: Any, config: Any = None, *, stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[AIMessageChunk]:
        # This is not `_astream`: a package without streaming lacks it, and the library asks whether it exists.
        stream, messages = super().astream, self._convert_input(input).to_messages()

        def send(attempt: Attempt[None]) -> AsyncIterator[AIMessageChunk]:
            return stream(list(attempt.messages), config, stop=stop, **kwargs)

        async for chunk in stream_with_fallbacks(self, messages, TermsMemory(None), send, lambda *_: None):
            yield chunk


def _is_refusal(error: Exception) -> bool:
    return any(read_status(link) in _REFUSED_STATUSES for link in iterate_causes(error))


def _list_model_keys(model: BaseChatModel) -> list[SecretStr]:
    values = (getattr(model, name, None) for name in type(model).model_fields)
    return [value for value in values if isinstance(value, SecretStr)]
