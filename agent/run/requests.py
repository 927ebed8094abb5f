"""Requests for runs, and the first message and title that they bring."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from langchain_core.messages import HumanMessage

from agent.run.compaction import SummaryScope
from agent.tools.approval import Decision
from checkpoints import HEAD, UNTITLED, Caller, Message, NewMessage, StateError, files, serde
from checkpoints.text import shorten

MAX_TITLE_CHARS = 60


class NothingToDecideError(StateError):
    def __init__(self) -> None:
        super().__init__("This call does not wait for a decision any more.")


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
    allow_moves: bool = False  # this move, and every later one of the agent in this thread
    scope: SummaryScope | None = None  # the passage to summarise; the run then answers nothing
    settings: Mapping[str, str] = field(default_factory=dict)  # for the thread that the run makes


def replace_text(message: Message, text: str) -> NewMessage:
    """Return a user's message with another text and the same files. The files of a damaged message are unknown."""
    content = files.build_content(serde.sanitize_text(text), files.find_file_parts(message.body["data"].get("content")))
    return NewMessage(serde.to_body(HumanMessage(content)))


def make_title(text: str) -> str:
    """Return a conversation's first title: the beginning of its first line."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), UNTITLED)
    return shorten(line, MAX_TITLE_CHARS)
