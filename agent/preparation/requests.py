"""Requests for runs, and the messages of users that they bring."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage

from agent.marks import InputsMark
from agent.preparation.compaction import SummaryScope
from agent.tools.decisions import Decision
from checkpoints import (
    HEAD,
    Caller,
    CandidateKey,
    Message,
    NewMessage,
    Rerun,
    RerunStep,
    RunActiveError,
    StateError,
)
from checkpoints.values import files, serde
from checkpoints.values.files import File
from checkpoints.values.limits import MAX_ARGUMENT_LEVELS, MAX_ARGUMENT_VALUES, MAX_MESSAGE_CHARS, has_more_values, is_deeper
from checkpoints.values.sentence import sentence


class NothingToDecideError(StateError):
    def __init__(self) -> None:
        super().__init__(sentence("This call does not wait for a decision any more."))


class FilesRefusedError(StateError, ValueError):
    def __init__(self) -> None:
        super().__init__(
            sentence("A graph answers here, and graphs take no attached files yet: write what matters as text.")
        )


class ModelsForGraphError(StateError, ValueError):
    """Several models were asked where a graph answers."""

    def __init__(self) -> None:
        super().__init__(sentence("A graph answers here, and it chooses its models itself: send the message to it alone."))


class InputsRefusedError(StateError, ValueError):
    """Inputs of a graph were sent where none answers."""

    def __init__(self) -> None:
        super().__init__("The built-in agent answers here, and takes no inputs of a graph.")


class NoGraphError(StateError):
    """The conversation is that of a program's graph, which the page does not have. An answer would not be known to it."""

    def __init__(self) -> None:
        super().__init__(
            sentence("A program's graph answers here. To ask the built-in agent, branch into a new conversation.")
        )


class EndDelayedError(RunActiveError):
    """The database did not take the end of the run before yet."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        super().__init__(thread_id, run_id)
        StateError.__init__(self, sentence("The end of the answer before is not saved yet. Please try again in a moment."))


class RerunActiveError(RunActiveError):
    """A rerun had begun its next question. That one is its last, and the message can follow it."""


class QueueFullError(StateError):
    """Too many runs wait for a worker."""

    def __init__(self) -> None:
        super().__init__(sentence("Too many answers are waiting to be written. Please try again in a moment."))


class MessageTooLongError(StateError, ValueError):
    def __init__(self, chars: int) -> None:
        super().__init__(
            sentence(
                "This text has {chars:,} characters. A message has at most {limit:,}: shorten it, or attach it as a file.",
                chars=chars,
                limit=MAX_MESSAGE_CHARS,
            )
        )


class EmptyMessageError(StateError, ValueError):
    def __init__(self) -> None:
        super().__init__(sentence("A message needs a text or a file."))


class ArgumentsTooDeepError(StateError, ValueError):
    def __init__(self) -> None:
        super().__init__(sentence("The arguments are nested deeper than {limit} levels.", limit=MAX_ARGUMENT_LEVELS))


class TooManyArgumentsError(StateError, ValueError):
    def __init__(self) -> None:
        super().__init__(sentence("The arguments hold more than {limit:,} values.", limit=MAX_ARGUMENT_VALUES))


@dataclass(frozen=True, slots=True)
class NewRerun:
    """A rerun that begins: its branch begins after a message, and has a name."""

    rerun: Rerun
    after_id: str | None
    branch_name: str


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request for a run: a message to answer, an answer to finish, a decision about a call, or a passage to summarise."""

    thread_id: str | None
    caller: Caller
    message: NewMessage | None = None
    after_id: str | None = HEAD  # the message that the run goes on from
    title: str = ""
    continues_answer: bool = False
    decision: Decision | None = None
    answers: Mapping[str, Any] | None = None  # to the questions of a user graph that waits, by their ids
    allow_moves: bool = False  # this move, and every later one of the agent in this thread
    scope: SummaryScope | None = None  # the passage to summarise; the run then answers nothing
    settings: Mapping[str, str] = field(default_factory=dict)  # for the thread that the run makes
    rerun: NewRerun | RerunStep | None = None  # the message is a question of it
    models: Sequence[str] = ()  # that answer the message at once; empty: that of the thread
    candidate: CandidateKey | None = None  # to be written again; the others stay as they are

    @property
    def is_decision(self) -> bool:
        """Return whether it is a part of the turn that waits for it."""
        return self.decision is not None or self.answers is not None


def build_user_message(text: str, attachments: Sequence[File] = (), inputs: Mapping[str, Any] | None = None) -> NewMessage:
    """Build a user's message of a text and files. `inputs` are for a user graph, beside the message.

    Raises `MessageTooLongError`, `EmptyMessageError`, and the errors of arguments.
    """
    text = clean_message_text(text)
    if not text and not attachments:
        raise EmptyMessageError
    given = dict(inputs or {})
    _check_json(given)
    content = files.build_content(text, list(map(files.make_file_part, attachments)))
    mark = InputsMark(serde.sanitize_json(given)).to_kwargs() if given else {}
    return NewMessage(serde.to_body(HumanMessage(content, additional_kwargs=mark)), files=tuple(attachments))


def replace_text(message: Message, text: str) -> NewMessage:
    """Return a user's message with another text, the same files and inputs. Those of a damaged message are unknown.

    Raises `MessageTooLongError`.
    """
    text = clean_message_text(text)
    content = files.build_content(text, files.find_file_parts(message.body["data"].get("content")))
    inputs = InputsMark.of(message)
    return NewMessage(serde.to_body(HumanMessage(content, additional_kwargs=inputs.to_kwargs() if inputs else {})))


def clean_message_text(text: str) -> str:
    """Return a text of a user as it is stored. Raises `MessageTooLongError`."""
    if len(text) > MAX_MESSAGE_CHARS:
        raise MessageTooLongError(len(text))
    return serde.sanitize_text(text)


def check_answers(answers: Mapping[str, Any]) -> None:
    """Check a user's answers to a user graph. Raises `MessageTooLongError` and the errors of arguments."""
    _check_json(dict(answers))


def check_decision(decision: Decision) -> None:
    """Check a user's own answer or arguments. Raises `MessageTooLongError` and the errors of arguments."""
    clean_message_text(decision.text)
    _check_json(decision.arguments)


def _check_json(value: Any) -> None:
    if is_deeper(value, MAX_ARGUMENT_LEVELS):
        raise ArgumentsTooDeepError
    if has_more_values(value, MAX_ARGUMENT_VALUES):
        raise TooManyArgumentsError
    clean_message_text(json.dumps(value, ensure_ascii=False))
