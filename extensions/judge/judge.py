"""The judge asks a model after a run whether the conversation has reached a milestone, and saves a checkpoint if so."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.context.prompts import JUDGE_PROMPT
from agent.context.transcript import build_transcript
from agent.events import HeadMoved
from agent.fence import clean_line
from agent.run.follow_up import MAX_MESSAGE_CHARS, MAX_MESSAGES, FollowUp, FollowUpKind
from agent.run.parts import RunParts
from agent.settings import ChosenModel, ThreadSettings
from agent.tracing.events import JUDGE_PROMPT_NAME, Judged
from agent.tracing.run_trace import record_safely
from checkpoints import Checkpoint, Run, StateError

# Nothing waits for a verdict, and a local model may have other work first.
MAX_VERDICT_SECONDS = 60.0
# Messages between any checkpoint and the next milestone. A list of every turn would show no milestone.
MIN_MESSAGES_APART = 4
# Milestones on one path. The limit bounds the cost of a model that finds everything important.
MAX_MILESTONES = 100
# The limit of all messages together.
MAX_JUDGE_QUESTION_CHARS = 16_000
MAX_MILESTONE_NAME_CHARS = 80
MAX_REASON_CHARS = 300

_KIND = FollowUpKind(
    name="judge",
    prompt_name=JUDGE_PROMPT_NAME,
    prompt=JUDGE_PROMPT,
    event=Judged,
    failure="the judge said nothing of",
)


class Verdict(BaseModel):
    """The JSON object that the model must answer with. Its texts are untrusted: a model wrote them."""

    model_config = ConfigDict(strict=True, frozen=True)

    should_save: bool
    reason: str = ""
    suggested_name: str = ""


class UnreadableVerdictError(StateError, ValueError):
    def __init__(self) -> None:
        # The text leaves the answer out, since the log holds nothing of conversations.
        super().__init__("The answer was no verdict.")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A state to judge: the id of its last message, the question about it, and the model to ask."""

    message_id: str
    question: str
    model: ChosenModel


class Judge:
    """Judges the state after each run once, and one state of a thread at a time.

    It asks the thread's own model, so no conversation reaches a new provider.
    """

    def __init__(self, parts: RunParts, max_seconds: float = MAX_VERDICT_SECONDS) -> None:
        self._parts = parts
        self._follow_up = FollowUp(_KIND, parts.tracer, max_seconds)

    def consider(self, run: Run) -> None:
        """Judge the state after a run in the background. Skip it while another state of the thread is judged."""
        self._follow_up.start(run, self._judge_run)

    async def close(self) -> None:
        await self._follow_up.close()

    async def _judge_run(self, run: Run) -> None:
        parts = self._parts
        candidate = await parts.blocking.run(self._load_candidate, run)
        if candidate is None:
            return
        answer = await self._follow_up.ask(run, candidate.model, candidate.question)
        verdict = parse_verdict(str(answer.text))
        if verdict.should_save:
            name, reason = (
                clean_line(verdict.suggested_name, MAX_MILESTONE_NAME_CHARS),
                clean_line(verdict.reason, MAX_REASON_CHARS),
            )
            receipt = await parts.blocking.run(parts.runs.save_milestone, run, candidate.message_id, name, reason)
            if receipt is not None:
                parts.hub.publish(run.thread_id, HeadMoved(receipt.version))
                record_safely(parts.tracer, receipt.operation)

    def _load_candidate(self, run: Run) -> _Candidate | None:
        """Load the state after the run. Return None if it has left the path, or is too close to another checkpoint."""
        store = self._parts.store
        with store.database.begin_read():
            thread = store.get_thread(run.thread_id)
            path = store.list_messages(thread.id, last=MAX_MESSAGES)
            checkpoints = store.list_checkpoints(thread.id)
        # The next run may have begun, and its messages do not belong to this state.
        last = next((index for index in reversed(range(len(path))) if path[index].run_id == run.id), None)
        if last is None or not is_due(path[last].depth + 1, checkpoints):
            return None
        model = ThreadSettings.from_thread(thread).resolve_helper_model(self._parts.catalog)
        question = build_transcript(path[: last + 1], MAX_JUDGE_QUESTION_CHARS, MAX_MESSAGE_CHARS, show_arguments=False)
        return _Candidate(path[last].id, question, model)


def is_due(message_count: int, checkpoints: Sequence[Checkpoint]) -> bool:
    """Return whether a state with this many messages may become a milestone, given its path's checkpoints."""
    nearest = max((checkpoint.message_count for checkpoint in checkpoints if not checkpoint.detached), default=0)
    saved = sum(checkpoint.created_by == "judge" for checkpoint in checkpoints)
    return message_count - nearest >= MIN_MESSAGES_APART and saved < MAX_MILESTONES


def parse_verdict(text: str) -> Verdict:
    """Parse the JSON object in an answer, even in a code fence or after thoughts. Raises `UnreadableVerdictError`.

    The provider's structured output is not used, because compatible servers refuse different forms of it.
    """
    try:
        verdict = Verdict.model_validate_json(text[text.find("{") : text.rfind("}") + 1])
    except ValidationError:
        raise UnreadableVerdictError from None
    if verdict.should_save and not clean_line(verdict.suggested_name, MAX_MILESTONE_NAME_CHARS):
        raise UnreadableVerdictError
    return verdict
