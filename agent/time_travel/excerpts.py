"""Excerpts: another branch's messages or conclusion, as a note in the current branch. The model reads it as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from langchain_core.messages import HumanMessage

from agent.fence import Fence, clean_line
from agent.marks import ExcerptMark
from agent.time_travel.moves import find_sources
from checkpoints import MAIN, Message, MessageStatus, NewMessage, StateError
from checkpoints.values import serde
from checkpoints.values.limits import MAX_NAME_CHARS
from checkpoints.values.place_name import PlaceKind, PlaceName
from checkpoints.values.sentence import sentence

MAX_CONCLUSION_CHARS = 20_000
MAX_EXCERPT_MESSAGES = 50
# The limit of the whole note.
MAX_EXCERPT_CHARS = 100_000
_FENCE = Fence("excerpt from another branch")
# The search finds every excerpt by these words.
EXCERPT_PHRASE = "The user brought this note here from another place"
_HEADING = f"{EXCERPT_PHRASE} of the conversation: {{origin}}."
# Words for the heading, which the model reads.
_ORIGINS: Final[dict[PlaceKind, str]] = {
    "branch": "branch “{name}”",
    "checkpoint": "checkpoint “{name}”",
    "message": "another place",
    "current": "current position",
}
_SPEAKERS = {"human": "User", "ai": "Assistant"}


class ExcerptRefusedError(StateError, ValueError):
    """There is no excerpt to make, and nothing was changed. The text gives the reason."""


@dataclass(frozen=True, slots=True)
class ExcerptRequest:
    """A person's choice for an excerpt: a conclusion in their words, and messages to quote."""

    conclusion: str = ""
    message_ids: Sequence[str] = ()


def build_excerpt(request: ExcerptRequest, origin: PlaceName, messages: Sequence[Message]) -> NewMessage:
    """Build the note from messages of the other branch alone. Raises `ExcerptRefusedError`."""
    conclusion = request.conclusion.strip()
    if not messages:
        raise ExcerptRefusedError(sentence("That place has no messages of its own."))
    if len(conclusion) > MAX_CONCLUSION_CHARS:
        raise ExcerptRefusedError(
            sentence("The conclusion is longer than {limit:,} characters.", limit=MAX_CONCLUSION_CHARS)
        )
    if not conclusion and not request.message_ids:
        raise ExcerptRefusedError(sentence("Write a conclusion, or select messages."))
    quotes = [_quote_message(message) for message in _select_messages(messages, request.message_ids)]
    body = "\n\n".join(filter(None, [conclusion, *quotes]))
    last = messages[-1]
    place = PlaceName(origin.kind, clean_line(origin.name, MAX_NAME_CHARS))
    mark = ExcerptMark(place, last.hash, last.depth, find_sources(messages))
    text = serde.sanitize_text(_FENCE.wrap(body, _make_heading(place)))
    if len(text) > MAX_EXCERPT_CHARS:
        raise ExcerptRefusedError(
            sentence("The note is longer than {limit:,} characters: select fewer messages.", limit=MAX_EXCERPT_CHARS)
        )
    return NewMessage(serde.to_body(HumanMessage(text, additional_kwargs=mark.to_kwargs())))


def _select_messages(messages: Sequence[Message], message_ids: Sequence[str]) -> list[Message]:
    if len(message_ids) > MAX_EXCERPT_MESSAGES:
        raise ExcerptRefusedError(sentence("An excerpt has at most {limit} messages.", limit=MAX_EXCERPT_MESSAGES))
    chosen = [message for message in messages if message.id in message_ids and is_quotable(message)]
    if len(chosen) < len(set(message_ids)):
        raise ExcerptRefusedError(sentence("One of these messages cannot be quoted. Reload the page and try again."))
    return chosen


def is_quotable(message: Message) -> bool:
    """Return whether an excerpt can quote a message, as a text of the user or the assistant."""
    is_spoken = message.agent == MAIN and not message.damaged and message.type in _SPEAKERS
    return is_spoken and bool(str(message.langchain.text).strip())


def _quote_message(message: Message) -> str:
    cut_off = " (cut off)" if message.status is MessageStatus.PARTIAL else ""
    speaker = "Graph" if message.is_by_graph else _SPEAKERS[message.type]
    return f"**{speaker}{cut_off}:**\n\n{str(message.langchain.text).strip()}"


def _make_heading(origin: PlaceName) -> str:
    words = origin.name if origin.kind is None else _ORIGINS[origin.kind].format(name=origin.name)
    return _HEADING.format(origin=words)


def extract_excerpt(text: str, mark: ExcerptMark) -> str | None:
    """Return the note's own text, or None if the text is not exactly ours, since a file may hold any mark."""
    return _FENCE.unwrap(text, _make_heading(mark.origin))
