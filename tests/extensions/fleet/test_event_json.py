"""Every event comes through the wire as it was, with its message from the database."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.events import (
    CandidateProgress,
    Event,
    HeadMoved,
    MembersChanged,
    MessageAdded,
    RunFinished,
    RunStarted,
    ToolStarted,
)
from agent.run.hub import StoredEvent
from agent.run.live_runs import LiveCandidate, LiveRun
from checkpoints import RunState
from checkpoints.values.sentence import encode_sentence, sentence
from extensions.fleet.event_json import (
    _NAMES,
    UnknownEventError,
    decode_event,
    decode_live_run,
    encode_event,
    encode_live_run,
)
from tests.agent.run.event_strategies import MESSAGES, events, texts


def _pass(event: Event) -> Event:
    """Bring an event through JSON, and read its message."""
    decoded = decode_event(json.loads(json.dumps(encode_event(event))))
    return decoded.complete(MESSAGES[decoded.message_id]) if isinstance(decoded, StoredEvent) else decoded


@given(events)
@settings(max_examples=20)
def test_every_event_comes_through_as_it_was(event: Event) -> None:
    assert _pass(event) == event


def test_an_error_keeps_its_template_and_its_values() -> None:
    error = sentence("{reason} Go on?", reason=sentence("{count:,} seconds", count=9))
    passed = _pass(RunFinished("r", RunState.FAILED, 1, error))
    assert isinstance(passed, RunFinished)
    assert encode_sentence(passed.error) == encode_sentence(error)
    assert passed.error == "9 seconds Go on?"


def test_every_kind_of_event_can_be_sent() -> None:
    kinds = {kind.__name__ for kind in get_args(Event)} - {"RunQueued"}  # each process reads it for itself
    plain = {kind.__name__ for kind in _NAMES}
    assert plain | {"TextDelta", "CandidateProgress", "MessageAdded", "RunStarted"} == kinds


@given(events)
@settings(max_examples=20)
def test_no_body_of_a_message_is_sent(event: Event) -> None:
    sent = json.dumps(encode_event(event))
    assert not any(message.hash in sent for message in MESSAGES.values())


_ends = st.none() | st.builds(RunFinished, st.just("r"), st.sampled_from(RunState), st.integers(0, 9))
_begun = st.lists(st.tuples(st.integers(0, 9), texts), max_size=2).map(tuple)
_candidates = st.builds(LiveCandidate, st.integers(1, 3), texts, texts, texts, _ends)


@given(st.builds(LiveRun, texts, texts, texts, candidates=st.lists(_candidates, max_size=3), begun=_begun))
@settings(max_examples=20)
def test_a_run_in_progress_comes_through_as_it_is(live: LiveRun) -> None:
    assert decode_live_run(json.loads(json.dumps(encode_live_run(live)))) == live


@pytest.mark.parametrize(
    ("data", "event"),
    [
        (["members", 3], MembersChanged(3, "")),
        (["members", 3, "bob", "later"], MembersChanged(3, "bob")),
        (["head", 3, {"more": 1}], HeadMoved(3)),
        (["end", "r", "done", 3], RunFinished("r", RunState.DONE, 3)),
        (["start", "r", 3, None, [], 1, "later"], RunStarted("r", 3, None, [], 1)),
        (["candidate", 2, ["tool", "c", "later"], "later"], CandidateProgress(2, ToolStarted("c"))),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_an_event_of_another_version_loses_only_what_is_not_known(data: list[Any], event: Event) -> None:
    assert decode_event(data) == event
    with pytest.raises(UnknownEventError):
        decode_event(["members"])


def test_a_message_and_a_run_of_a_later_version_are_read() -> None:
    message = next(iter(MESSAGES.values()))
    added = decode_event(["message", message.id, 3, "later"])
    assert isinstance(added, StoredEvent)
    assert added.complete(message) == MessageAdded(message, 3)
    live = LiveRun("r", "text", candidates=[LiveCandidate(1, "m", "a", "", None)])
    encoded = encode_live_run(live)
    encoded[4][0].append("later")
    assert decode_live_run([*encoded, "later"]) == live


def test_half_characters_keep_their_number() -> None:
    event = CandidateProgress(1, RunFinished("r", RunState.FAILED, 3, "\ud83d", "\x00"))
    assert _pass(event) == event
