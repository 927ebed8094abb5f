"""Titles: after the first answer of a conversation a model is asked for a title, which replaces the first message's text.

It works in the background: nothing waits for it, and its failure is one line in the log. A person's title always wins.
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import time_ns

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from agent.context.prompts import TITLE_PROMPT
from agent.context.transcript import describe_message, encode_entry, wrap_entries
from agent.context.usage import readable_usage
from agent.events import HeadMoved
from agent.fence import clean_line
from agent.graph.answer import AnswerCutOff, collect_answer
from agent.graph.state import Limits
from agent.models.errors import describe_model_error
from agent.models.parameters import DEFAULT_PARAMETERS, read_parameters
from agent.preparation.requests import MAX_TITLE_CHARS
from agent.run.background import BackgroundTasks
from agent.run.blocking import BlockingPool
from agent.run.hub import RunHub
from agent.run.outcome import locate_error
from agent.settings import ChosenModel, ModelCatalog, ThreadSettings
from agent.tracing.events import TITLE_PROMPT_NAME, ModelAnswered, TitleAsked
from agent.tracing.protocol import NO_TRACING, Tracer
from agent.tracing.run_trace import record_safely
from checkpoints import MAIN, Message, MessageStatus, Run, Runs, StateError, Store
from checkpoints.values.text import find_plain_line, shorten

MAX_TITLE_SECONDS = 30.0  # for one title: nothing waits for it
MAX_TITLE_TOKENS = 2_000  # of the answer, with the thoughts of a model that reasons first
MAX_TITLED_MESSAGES = 40  # messages from the end of the path, among which the first turn is
MAX_TITLED_MESSAGE_CHARS = 2_000  # of the question and of the answer
MAX_TITLE_ANSWER_CHARS = 20_000  # with thoughts
MAX_CONSIDERED_THREADS = 1_000  # remembered, so that no later answer is looked up
_MARKS_AROUND = "\"'`´“”„‟‘’‚«»‹›「」『』*_# "
_LABEL = re.compile(r"\A\W*title\W*:\s*", re.IGNORECASE)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _TitleRequest:
    """The beginning of a conversation as a question, and the model to ask."""

    question: str
    model: ChosenModel


class TitleWriter:
    """Asks for the title of each conversation once, after its first answer.

    It asks the conversation's own model, or the model that the operator names (`spec`).
    """

    def __init__(
        self,
        store: Store,
        runs: Runs,
        hub: RunHub,
        catalog: ModelCatalog,
        blocking: BlockingPool,
        tracer: Tracer = NO_TRACING,
        spec: str | None = None,
        max_seconds: float = MAX_TITLE_SECONDS,
    ) -> None:
        self._store = store
        self._runs = runs
        self._hub = hub
        self._catalog = catalog
        self._blocking = blocking
        self._tracer = tracer
        self._spec = spec
        self._max_seconds = max_seconds
        self._limits = Limits(idle_seconds=max_seconds, max_answer_chars=MAX_TITLE_ANSWER_CHARS)
        self._tasks = BackgroundTasks()
        self._considered: dict[str, None] = {}  # threads, the last ones last: their first answer has come
        tracer.find_prompt(TITLE_PROMPT_NAME, TITLE_PROMPT)  # so that the operator's text is loaded when it is first needed

    def consider(self, run: Run) -> None:
        """Give the run's conversation a title, in the background, if this was its first answer."""
        if run.compacts or run.thread_id in self._considered:
            return
        self._considered[run.thread_id] = None
        if len(self._considered) > MAX_CONSIDERED_THREADS:
            del self._considered[next(iter(self._considered))]
        self._tasks.start(run.thread_id, lambda: self._give_title_safely(run), f"title {run.id}")

    async def close(self) -> None:
        await self._tasks.close()

    async def _give_title_safely(self, run: Run) -> None:
        try:
            async with asyncio.timeout(self._max_seconds):
                await self._give_title(run)
        except Exception as error:  # noqa: BLE001  the outer edge: a provider's library may raise anything
            name = type(error).__qualname__
            _log.warning("there is no title for run %s (%s): %s", run.id, name, _explain_failure(error))

    async def _give_title(self, run: Run) -> None:
        request = await self._blocking.run(self._load_request, run)
        if request is None:
            return
        answer = await self._ask(run, request)
        title, usage = clean_title(str(answer.text)), readable_usage(answer.usage_metadata)
        receipt = await self._blocking.run(
            self._runs.give_title, run, title, model=request.model.spec, usage=dict(usage or {})
        )
        if receipt is not None:
            self._hub.publish(run.thread_id, HeadMoved(receipt.version))

    def _load_request(self, run: Run) -> _TitleRequest | None:
        """Load the first turn; None where the conversation has another title, or was answered before."""
        with self._store.database.begin_read():
            if self._runs.has_answered_before(run) or not self._runs.is_titled_by_question(run.thread_id):
                return None
            thread = self._store.get_thread(run.thread_id)
            path = self._store.list_messages(thread.id, last=MAX_TITLED_MESSAGES)
        question = build_title_question([message for message in path if message.agent == MAIN])
        return _TitleRequest(question, self._choose_model(ThreadSettings.from_thread(thread))) if question else None

    def _choose_model(self, settings: ThreadSettings) -> ChosenModel:
        if self._spec is None:
            return settings.resolve_helper_model(self._catalog, str(MAX_TITLE_TOKENS))
        parameters = replace(DEFAULT_PARAMETERS, max_tokens=MAX_TITLE_TOKENS)
        return ChosenModel(self._spec, self._catalog.load_model(self._spec, parameters), parameters)

    async def _ask(self, run: Run, request: _TitleRequest) -> AIMessage:
        prompt, began = self._tracer.find_prompt(TITLE_PROMPT_NAME, TITLE_PROMPT), time_ns()
        messages: list[AnyMessage] = [SystemMessage(prompt.text), HumanMessage(request.question)]
        answer, error = AIMessage(""), "There was no answer."
        try:
            answer, error = await collect_answer(request.model.chat, messages, self._limits), ""
        finally:
            call = ModelAnswered(
                run_id=run.id,
                model=request.model.spec,
                prompt=prompt,
                messages=messages,
                answer=answer,
                began_ns=began,
                first_token_ns=None,
                ended_ns=time_ns(),
                error=error or None,
                parameters=read_parameters(request.model.chat),
            )
            record_safely(self._tracer, TitleAsked(run.thread_id, call))
        return answer


def _explain_failure(error: Exception) -> str:
    try:
        return str(error) if isinstance(error, StateError | AnswerCutOff) else describe_model_error(error)
    except BaseException as broken:  # noqa: BLE001  the error path itself: the log must name the failure all the same
        return f"it could not be described: {locate_error(broken)}"


def build_title_question(path: Sequence[Message]) -> str:
    """Build the question: the first message and the last answer as JSON between two tags; empty without both."""
    asked = next((message for message in path if message.type == "human"), None)
    answers = [each for each in path if each.type == "ai" and each.status is MessageStatus.DONE and each.langchain.text]
    if asked is None or not answers:
        return ""
    shown = (describe_message(each, MAX_TITLED_MESSAGE_CHARS, show_arguments=False) for each in (asked, answers[-1]))
    return wrap_entries([encode_entry(entry) for entry in shown])


def clean_title(text: str) -> str:
    """Return the first line of an answer as a title: without Markdown, quotes and a full stop, in `MAX_TITLE_CHARS`."""
    line = clean_line(_LABEL.sub("", find_plain_line(text)), 10 * MAX_TITLE_CHARS).strip(_MARKS_AROUND)
    return shorten(line.removesuffix(".").strip(_MARKS_AROUND), MAX_TITLE_CHARS)
