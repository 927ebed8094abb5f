"""Titles: after a conversation's first answer, a model suggests a title to replace the first message's text.

A person's title always wins.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.context.prompts import TITLE_PROMPT
from agent.context.transcript import describe_message, encode_entry, wrap_entries
from agent.context.usage import readable_usage
from agent.events import HeadMoved
from agent.fence import clean_line
from agent.models.parameters import DEFAULT_PARAMETERS
from agent.run.follow_up import MAX_MESSAGE_CHARS, MAX_MESSAGES, FollowUp, FollowUpKind
from agent.run.parts import RunParts
from agent.settings import ChosenModel, ThreadSettings
from agent.tracing.events import TITLE_PROMPT_NAME, TitleAsked
from checkpoints import MAIN, UNTITLED, Message, MessageStatus, NewMessage, Run
from checkpoints.values.text import find_plain_line, shorten, shorten_line

MAX_TITLE_CHARS = 60
# Nothing waits for a title.
MAX_TITLE_SECONDS = 30.0
# The answer, including a reasoning model's thoughts.
MAX_TITLE_TOKENS = 2_000
# Remembered, so that later answers need no lookup.
MAX_CONSIDERED_THREADS = 1_000
_PAIRS = ('""', "''", "``", "´´", "__", "“”", "„“", "„”", "„‟", "‘’", "‚‘", "‚’", "«»", "»«", "‹›", "›‹", "「」", "『』")
_COMMAND_SIGN = re.compile(r"\A/(?=[A-Za-z]+(?:\s|\Z))")
_LABEL = re.compile(r"\A\W*title\W*:\s*", re.IGNORECASE)

_KIND = FollowUpKind(
    name="title",
    prompt_name=TITLE_PROMPT_NAME,
    prompt=TITLE_PROMPT,
    event=TitleAsked,
    failure="there is no title for",
)


@dataclass(frozen=True, slots=True)
class _TitleRequest:
    question: str
    model: ChosenModel


class TitleWriter:
    """Asks for the title of each conversation once, after its first answer.

    It asks the conversation's own model, or the operator's model (`spec`).
    """

    def __init__(self, parts: RunParts, spec: str | None = None, max_seconds: float = MAX_TITLE_SECONDS) -> None:
        self._parts = parts
        self._spec = spec
        self._follow_up = FollowUp(_KIND, parts.tracer, max_seconds)
        # Threads that have their first answer, the latest last.
        self._considered: dict[str, None] = {}

    def consider(self, run: Run) -> None:
        """Give the run's conversation a title in the background, if this was its first answer."""
        if run.compacts or run.thread_id in self._considered:
            return
        self._considered[run.thread_id] = None
        if len(self._considered) > MAX_CONSIDERED_THREADS:
            del self._considered[next(iter(self._considered))]
        self._follow_up.start(run, self._give_title)

    async def close(self) -> None:
        await self._follow_up.close()

    async def _give_title(self, run: Run) -> None:
        parts = self._parts
        request = await parts.blocking.run(self._load_request, run)
        if request is None:
            return
        answer = await self._follow_up.ask(run, request.model, request.question)
        title, usage = clean_title(str(answer.text)), readable_usage(answer.usage_metadata)
        receipt = await parts.blocking.run(
            parts.runs.give_title, run, title, model=request.model.spec, usage=dict(usage or {})
        )
        if receipt is not None:
            parts.hub.publish(run.thread_id, HeadMoved(receipt.version))

    def _load_request(self, run: Run) -> _TitleRequest | None:
        """Load the first turn. Return None if the conversation has another title, or was answered before."""
        store, runs = self._parts.store, self._parts.runs
        with store.database.begin_read():
            if runs.has_answered_before(run) or not runs.is_titled_by_question(run.thread_id):
                return None
            thread = store.get_thread(run.thread_id)
            path = store.list_messages(thread.id, last=MAX_MESSAGES)
        question = build_title_question([message for message in path if message.agent == MAIN])
        return _TitleRequest(question, self._choose_model(ThreadSettings.from_thread(thread))) if question else None

    def _choose_model(self, settings: ThreadSettings) -> ChosenModel:
        if self._spec is None:
            return settings.resolve_helper_model(self._parts.catalog, str(MAX_TITLE_TOKENS))
        parameters = replace(DEFAULT_PARAMETERS, max_tokens=MAX_TITLE_TOKENS)
        return ChosenModel(self._spec, self._parts.catalog.load_model(self._spec, parameters), parameters)


def build_title_question(path: Sequence[Message]) -> str:
    """Build the question from the first message and the last answer, as JSON between two tags; empty if either is
    missing.
    """
    asked = next((each for each in path if each.type == "human" and not each.is_by_graph), None)
    answers = [each for each in path if each.type == "ai" and each.status is MessageStatus.DONE and each.langchain.text]
    if asked is None or not answers:
        return ""
    shown = (describe_message(each, MAX_MESSAGE_CHARS, show_arguments=False) for each in (asked, answers[-1]))
    return wrap_entries([encode_entry(entry) for entry in shown])


def make_title(message: NewMessage) -> str:
    """Return the title that a first message gives: its first line or its first file's name, without Markdown."""
    content = message.body["data"]["content"]
    text = content if isinstance(content, str) else content[0].get("text") or content[0]["name"]
    return shorten(_find_title(text) or shorten_line(text, MAX_TITLE_CHARS) or UNTITLED, MAX_TITLE_CHARS)


def _find_title(text: str) -> str:
    """Return the first line without Markdown, TeX and the page's command sign: `/tag work` becomes “tag work”."""
    return _COMMAND_SIGN.sub("", find_plain_line(text))


def clean_title(text: str) -> str:
    """Return an answer's first line as a title of `MAX_TITLE_CHARS`, without Markdown, quotes and a full stop."""
    line = _strip_quotes(clean_line(_LABEL.sub("", _find_title(text)), 10 * MAX_TITLE_CHARS))
    return shorten(_strip_quotes(line.removesuffix(".")), MAX_TITLE_CHARS)


def _strip_quotes(line: str) -> str:
    """Strip quotation marks around the whole line. A mark that closes a part of it stays."""
    line = line.strip("*# ")
    for pair in _PAIRS:
        inner = line.strip(pair)
        if line[:1] + line[-1:] == pair and inner and not set(pair) & set(inner):
            return inner.strip("*# ")
    return line
