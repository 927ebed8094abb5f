"""Follow-up work: after a run, a model is asked about the run's messages.

Nothing waits for it, and it blocks no person's change. Each call is traced, and a failure is one line in the log.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from time import time_ns
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from agent.graph.answer import AnswerCutOff, collect_answer
from agent.graph.state import Limits
from agent.models.errors import describe_model_error
from agent.run.outcome import locate_error
from agent.settings import ChosenModel
from agent.tracing.events import Judged, ModelAnswered, TitleAsked, TracedCall
from agent.tracing.protocol import Tracer
from agent.tracing.run_trace import follow_model, record_safely
from checkpoints import Run, StateError

# A question shows messages from the end of the path, and the beginning of each.
MAX_MESSAGES = 40
MAX_MESSAGE_CHARS = 2_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpKind:
    """The name, prompt and trace event of a kind of follow-up work."""

    name: str
    prompt_name: str
    prompt: str
    # The event for the trace.
    event: type[Judged] | type[TitleAsked]
    # Words for the log, before “run ID”.
    failure: str


class BackgroundTasks:
    """The tasks of a follower, by thread."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, thread_id: str, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Start a task, unless the thread's task is unfinished."""
        if thread_id not in self._tasks:
            task = asyncio.create_task(work(), name=name)
            self._tasks[thread_id] = task
            task.add_done_callback(lambda _: self._tasks.pop(thread_id))

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class FollowUp:
    """Follow-up work of a kind, at most once at a time in each thread."""

    def __init__(self, kind: FollowUpKind, tracer: Tracer, max_seconds: float) -> None:
        self._kind = kind
        self._tracer = tracer
        self._max_seconds = max_seconds
        self._limits = Limits(idle_seconds=max_seconds)
        self._tasks = BackgroundTasks()
        # Load the operator's text early, so that it is there when it is needed.
        tracer.find_prompt(kind.prompt_name, kind.prompt)

    def start(self, run: Run, work: Callable[[Run], Awaitable[None]]) -> None:
        """Start work after a run, in the background. Skip it if the thread already has work of this kind."""
        self._tasks.start(run.thread_id, lambda: self._work_safely(run, work), f"{self._kind.name} {run.id}")

    async def close(self) -> None:
        await self._tasks.close()

    async def _work_safely(self, run: Run, work: Callable[[Run], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(self._max_seconds):
                await work(run)
        except Exception as error:  # noqa: BLE001  the outer edge: a provider's library may raise anything
            name = type(error).__qualname__
            _log.warning("%s run %s (%s): %s", self._kind.failure, run.id, name, _word_failure(error))

    async def ask(self, run: Run, model: ChosenModel, question: str) -> AIMessage:
        prompt, began = self._tracer.find_prompt(self._kind.prompt_name, self._kind.prompt), time_ns()
        messages: list[AnyMessage] = [SystemMessage(prompt.text), HumanMessage(question)]
        answer, error = AIMessage(""), "There was no answer."
        name = self._kind.prompt_name
        traced = TracedCall(run.id, model.spec, messages, prompt, follow_up=name, thread_id=run.thread_id)
        followed = follow_model(model.chat, self._tracer, traced)
        try:
            answer, error = await collect_answer(followed, messages, self._limits), ""
        finally:
            call = ModelAnswered(
                run_id=run.id,
                model=model.spec,
                answer=answer,
                began_ns=began,
                first_token_ns=None,
                ended_ns=time_ns(),
                error=error or None,
            )
            record_safely(self._tracer, self._kind.event(run.thread_id, call))
        return answer


def _word_failure(error: Exception) -> str:
    try:
        return str(error) if isinstance(error, StateError | AnswerCutOff) else describe_model_error(error)
    except BaseException as broken:  # noqa: BLE001  the error path itself: the log must name the failure all the same
        return f"it could not be described: {locate_error(broken)}"
