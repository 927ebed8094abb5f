"""Conclusions of branches. The model drafts a conclusion when a person asks for it, and the draft is not stored."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

from agent.context.prompts import CONCLUSION_PROMPT
from agent.context.transcript import build_transcript
from agent.context.usage import readable_usage
from agent.context.window import find_window
from agent.graph.answer import AnswerCutOff, collect_answer
from agent.graph.state import Limits
from agent.models.errors import describe_model_error
from agent.run.parts import RunParts
from agent.settings import ChosenModel, ThreadSettings
from checkpoints import Message, StateError, require_writer
from checkpoints.values.sentence import sentence

MAX_CONCLUSION_SECONDS = 60.0
# The answer, including a reasoning model's thoughts.
MAX_CONCLUSION_TOKENS = 4_000
# The newest messages of a branch.
MAX_CONCLUDED_CHARS = 200_000
# Drafts of one person at once.
MAX_DRAFTS = 4


class NotDraftedError(StateError):
    """No draft was written. The text gives the reason."""


@dataclass(frozen=True, slots=True)
class DraftedConclusion:
    text: str
    spec: str
    # As LangChain counts usage. Empty if the provider reported none.
    usage: dict[str, object]


@dataclass(slots=True)
class ConclusionWriter:
    parts: RunParts
    # Keys are conversations, values the persons who asked for a draft.
    _persons: dict[str, str] = field(init=False, default_factory=dict)

    async def draft(self, thread_id: str, messages: Sequence[Message]) -> DraftedConclusion:
        """Draft a conclusion of messages, counted against the tokens of the person who acts. Raises `NotDraftedError`."""
        if not messages:
            raise NotDraftedError(sentence("That place has no messages of its own."))
        person = self.parts.store.database.name_owner()
        if thread_id in self._persons or [*self._persons.values()].count(person) >= MAX_DRAFTS:
            raise NotDraftedError(sentence("A conclusion is being written already. Please wait a moment."))
        self._persons[thread_id] = person
        try:
            async with asyncio.timeout(MAX_CONCLUSION_SECONDS):
                return await self._ask(thread_id, messages)
        except (StateError, AnswerCutOff) as error:
            raise NotDraftedError(str(error)) from error
        # The outer edge: a provider's library may raise anything.
        except Exception as error:
            raise NotDraftedError(describe_model_error(error)) from error
        finally:
            del self._persons[thread_id]

    async def _ask(self, thread_id: str, messages: Sequence[Message]) -> DraftedConclusion:
        model, question = await self.parts.blocking.run(self._load, thread_id, messages)
        request: list[AnyMessage] = [SystemMessage(CONCLUSION_PROMPT), HumanMessage(question)]
        limits = Limits(idle_seconds=MAX_CONCLUSION_SECONDS)
        answer = await collect_answer(model.chat, request, limits)
        usage = dict(readable_usage(answer.usage_metadata) or {})
        if usage:
            await self.parts.blocking.run(self._count, model.spec, usage)
        text = str(answer.text).strip()
        if not text:
            raise NotDraftedError(sentence("The model wrote nothing. You can ask again, or write it yourself."))
        return DraftedConclusion(text, model.spec, usage)

    def _load(self, thread_id: str, messages: Sequence[Message]) -> tuple[ChosenModel, str]:
        require_writer()
        self.parts.store.belongs_to_another(thread_id, to_change=True)
        self.parts.store.meter.check_call(self.parts.store.database.name_owner(), self.parts.store.now())
        settings = ThreadSettings.from_thread(self.parts.store.get_thread(thread_id))
        model = settings.resolve_helper_model(self.parts.catalog, str(MAX_CONCLUSION_TOKENS))
        window = find_window(model.chat, self.parts.limits.max_window_tokens)
        max_chars = min(MAX_CONCLUDED_CHARS, 2 * window.max_request_tokens)
        return model, build_transcript(messages, max_chars, max_chars // 2)

    def _count(self, spec: str, usage: dict[str, object]) -> None:
        self.parts.store.meter.count_call(self.parts.store.database.name_owner(), self.parts.store.now(), spec, usage)
