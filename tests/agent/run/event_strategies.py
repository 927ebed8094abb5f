"""Any event of a run, and any story of runs in one thread."""

from hypothesis import strategies as st

from agent.events import (
    AnswerBegun,
    AnswerEvent,
    CandidateProgress,
    DraftsFailed,
    Event,
    GraphProgress,
    HeadMoved,
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
from checkpoints import Candidate, Database, Draft, RunState, Store
from tests.checkpoints.conversations import new

_store = Store(Database.in_memory())
_thread = _store.create_thread().id
_store.append(_thread, new("a", "b"))
MESSAGES = {message.id: message for message in _store.list_messages(_thread)}
_store.database.close()

texts = st.text(st.characters(exclude_categories=()), max_size=5)  # also halves of characters
_numbers, _states, _maybe = st.integers(1, 3), st.sampled_from(RunState), st.none() | texts
_messages = st.sampled_from([*MESSAGES.values()])
_versions = st.integers(1, 10**6)
_drafts = st.builds(Draft, texts, texts)
_candidates = st.builds(Candidate, st.just("r"), _numbers, texts, texts, _states, _drafts, _maybe, _maybe, _maybe)
_flood = st.builds(TextDelta, texts) | st.builds(ReasoningDelta, texts)
_answers: st.SearchStrategy[AnswerEvent] = st.one_of(
    _flood,
    st.builds(TextWithdrawn, texts),
    st.builds(MessageAdded, _messages, _versions),
    st.builds(ToolStarted, texts),
    st.just(AnswerBegun()),
)
_ends = st.builds(RunFinished, st.just("r"), _states, _versions, _maybe, _maybe)
_progress = st.builds(GraphProgress, st.lists(texts, max_size=2).map(tuple), st.lists(texts, max_size=2).map(tuple))
_started = st.builds(
    RunStarted, texts, _versions, st.none() | _messages, st.lists(_candidates, max_size=2), st.integers(1, 9)
)
_of_candidates = st.builds(CandidateProgress, _numbers, _answers | _ends)
_rests = st.builds(WorkEnded, st.just("r"), _states, _maybe)
_begun = st.builds(TextBegun, texts)
_outside = st.builds(HeadMoved, _versions) | st.just(RerunEnded())

events: st.SearchStrategy[Event] = st.one_of(
    *(_answers, _begun, _started, _ends, _of_candidates, _progress, _rests, _outside),
    *(st.builds(DraftsFailed, texts), st.just(UpdatesDelayed())),
)
# What one process publishes between the start of a run and its end.
run_events: st.SearchStrategy[list[Event]] = st.lists(
    st.one_of(_answers, _begun, _flood, _flood, _of_candidates, _progress, _rests, _outside), min_size=5, max_size=15
)
