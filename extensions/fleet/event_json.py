"""Events as JSON for the wire. A message is only an id: followers read the message from the database.

During a rolling upgrade, the sender may have another version. New fields come last and have a default. A reader ignores
unknown fields, and uses the default for a missing field.
"""

from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Any, cast

from agent.events import (
    AnswerBegun,
    CandidateProgress,
    DraftsFailed,
    Event,
    GraphProgress,
    HeadMoved,
    MembersChanged,
    MessageAdded,
    ReasoningDelta,
    RerunEnded,
    RunFinished,
    RunStarted,
    TextBegun,
    TextDelta,
    TextWithdrawn,
    ToolStarted,
    UpdatesDelayed,
    WorkEnded,
)
from agent.run.hub import StoredEvent
from agent.run.live_runs import LiveCandidate, LiveRun
from checkpoints import Candidate, Draft, Message, RunState
from checkpoints.values.sentence import decode_sentence, encode_sentence

Json = Any


_PLAIN_EVENTS: dict[str, type[Any]] = {
    "begun": AnswerBegun,
    "begun_text": TextBegun,
    "delayed": UpdatesDelayed,
    "end": RunFinished,
    "head": HeadMoved,
    "members": MembersChanged,
    "outage": DraftsFailed,
    "progress": GraphProgress,
    "reasoning": ReasoningDelta,
    "rerun": RerunEnded,
    "rest": WorkEnded,
    "tool": ToolStarted,
    "withdrawn": TextWithdrawn,
}
_NAMES = {kind: name for name, kind in _PLAIN_EVENTS.items()}


class UnknownEventError(ValueError):
    """An event that this version of Waymark does not know."""


def encode_event(event: Event) -> Json:
    data: Json
    match event:
        case TextDelta():
            data = event.text
        case CandidateProgress():
            data = ["candidate", event.number, encode_event(event.event)]
        case MessageAdded():
            data = ["message", event.message.id, event.version]
        case RunStarted(run_id, version, message, candidates, attempt):
            encoded = [_encode_candidate(each) for each in candidates]
            data = ["start", run_id, version, message and message.id, encoded, attempt]
        case _:
            data = [_NAMES[type(event)], *(_encode_value(getattr(event, each.name)) for each in fields(event))]
    return data


def decode_event(data: Json) -> Event | StoredEvent:
    """Return the event, or a `StoredEvent` if a message must complete it. Raises `UnknownEventError`."""
    event: Event | StoredEvent
    match data:
        case str():
            event = TextDelta(data)
        case ["candidate", number, inner, *_]:
            event = _decode_progress(number, decode_event(inner))
        case ["message", message_id, version, *_]:
            # To the text in progress, a message is like a withdrawal without reasoning: all text goes.
            event = StoredEvent(message_id, TextWithdrawn(""), partial(MessageAdded, version=version))
        case ["start", run_id, version, message_id, encoded, attempt, *_]:
            candidates = [_decode_candidate(each) for each in encoded]
            begin = partial(_begin_run, run_id, version, candidates=candidates, attempt=attempt)
            event = begin(None) if message_id is None else StoredEvent(message_id, begin(None), begin)
        case [name, *values] if name in _PLAIN_EVENTS:
            event = _decode_plain_event(_PLAIN_EVENTS[name], values)
        case _:
            raise UnknownEventError(str(data)[:80])
    return event


def _decode_plain_event(kind: type[Any], values: Sequence[Json]) -> Event:
    known = zip(fields(kind), values, strict=False)
    try:
        return cast(Event, kind(*(_decode_value(each.name, value) for each, value in known)))
    # A field without a default is missing.
    except TypeError as error:
        raise UnknownEventError(str(values)[:80]) from error


def encode_live_run(live: LiveRun) -> Json:
    candidates = [
        [each.number, each.model, each.text, each.reasoning, each.end and encode_event(each.end)] for each in live.candidates
    ]
    rest = live.work_ended and encode_event(live.work_ended)
    return [live.run_id, live.text, live.reasoning, rest, candidates, encode_event(live.progress), list(live.begun)]


def decode_live_run(data: Json) -> LiveRun:
    run_id, text, reasoning, rest, encoded, progress, *added = data
    candidates = [
        LiveCandidate(number, model, written, thought, _decode_as(RunFinished, end) if end else None)
        for number, model, written, thought, end, *_ in encoded
    ]
    work_ended = _decode_as(WorkEnded, rest) if rest else None
    begun = tuple((start, agent) for start, agent in added[0]) if added else ()
    return LiveRun(run_id, text, reasoning, work_ended, candidates, _decode_as(GraphProgress, progress), begun)


def _begin_run(run_id: str, version: int, message: Message | None, **rest: Any) -> RunStarted:
    return RunStarted(run_id, version, message, **rest)


def _decode_progress(number: int, inner: Event | StoredEvent) -> Event | StoredEvent:
    if not isinstance(inner, StoredEvent):
        # Only events of an answer are encoded inside it.
        return CandidateProgress(number, inner)  # type: ignore[arg-type]
    complete = inner.complete
    return StoredEvent(
        inner.message_id,
        CandidateProgress(number, inner.outline),  # type: ignore[arg-type]
        lambda message: CandidateProgress(number, complete(message)),  # type: ignore[arg-type]
    )


def _encode_value(value: object) -> Json:
    return encode_sentence(value) if isinstance(value, str) else value


def _decode_value(name: str, value: Json) -> Any:
    if name == "state":
        return RunState(value)
    return tuple(value) if isinstance(value, list) else decode_sentence(value)


def _encode_candidate(candidate: Candidate) -> Json:
    draft = [candidate.draft.text, candidate.draft.reasoning]
    ends = [candidate.state, draft, _encode_value(candidate.error), candidate.error_details, candidate.head_id]
    return [candidate.run_id, candidate.number, candidate.model, candidate.branch_id, *ends]


def _decode_candidate(data: Json) -> Candidate:
    run_id, number, model, branch_id, state, draft, error, details, head_id, *_ = data
    answer = Draft(*draft), decode_sentence(error), details, head_id
    return Candidate(run_id, number, model, branch_id, RunState(state), *answer)


def _decode_as(kind: type[Any], data: Json) -> Any:
    event = decode_event(data)
    if not isinstance(event, kind):
        raise UnknownEventError(str(data)[:80])
    return event
