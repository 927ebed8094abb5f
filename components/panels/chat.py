"""The conversation: the transcript, the composer, the outcome of the last run and the notice of the last change."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from agent.settings import ThreadSettings, is_of_program
from checkpoints import Message, Run, RunState, Store, Thread, ThreadNotFoundError, tree_reader
from checkpoints.people.members import Members
from checkpoints.values import limits
from components import page_state
from components.actions import Handlers
from components.model_choice import describe_answerer
from components.panel import Panel
from components.panels import approval, chat_actions
from components.people import READER, get_acting_role
from components.properties import Properties
from components.services import Services
from components.streams import candidates
from components.streams.turns import Turn, TurnChanges
from components.views import (
    context_meter,
    fork_attempts,
    list_rows,
    message_view,
    message_window,
    operations,
    question_forms,
    time_marks,
)
from components.views.limit_notice import describe_limits
from components.views.rerun_view import RerunView, describe_rerun
from components.views.start_page import describe_greeting, list_suggestions
from components.widgets import HISTORY_ID, TRANSCRIPT_ID, Composer, Transcript
from components.write_access import describe_read_only
from words import N_, _

# The example (panels/example.py) is offered to a person with fewer conversations.
NEWCOMER_THREADS = 3
# The bar always has a heading, also without a title.
NEW_TITLE = N_("New conversation")
MISSING_TITLE = N_("Conversation not found")
NO_GRAPH_TEXT = N_("A program's graph answers here. To ask the built-in agent, branch into a new conversation.")
NO_QUESTIONS: question_forms.QuestionsView = {"questions": [], "drafts": []}
_NO_THREAD: dict[str, Any] = {"thread": None, "version": 0}


class Ids(StrEnum):
    TRANSCRIPT = TRANSCRIPT_ID
    COMPOSER = "composer-panel"
    TITLE = "thread-title"
    # The page holds these messages (see `message_window`).
    WINDOW = "transcript-window"


def layout() -> Component:
    composer = html.Div(Composer(id=Ids.COMPOSER), id="composer")
    return html.Div([Transcript(id=Ids.TRANSCRIPT), composer, dcc.Store(id=Ids.WINDOW)], className="chat")


def build_start_page() -> dict[str, Any]:
    """Build the start page: a conversation without messages yet."""
    nothing = {
        "title": "",
        "messages": [],
        **NO_QUESTIONS,
        "earlier": False,
        "later": False,
        "run": None,
        "is_waiting": False,
        "notice": None,
        "rerun": None,
        "candidates": None,
    }
    return {**_NO_THREAD, **nothing, "marks": {}, "removed": None, "suggestions": list_suggestions("")}


def show(services: Services, location: page_state.PageLocation) -> Properties:
    window = message_window.resolve_window(location.window, location.thread_id)
    try:
        # All parts are of the same moment, and share what they read.
        with services.store.database.begin_read():
            transcript = _read_transcript(services, location.thread_id, window, location.last_update.get("closed"))
    except ThreadNotFoundError:
        transcript = _build_deleted_page(services.store, location.thread_id or "")
    read_only = describe_read_only(services.store, transcript["thread"])
    transcript |= {"read_only": read_only is not None, "is_reader": get_acting_role() == READER}
    transcript["greeting"] = describe_greeting(
        is_missing=transcript.pop("missing", False), is_read_only=read_only is not None
    )
    if read_only is not None:
        transcript["suggestions"] = []
    transcript["is_alone"] = _is_alone(services.store, transcript["thread"])
    fill = location.last_update.get("fill")
    # The thread may not exist, so the page's own values are added here.
    of_page = {"opened": location.thread_id, "fill": fill, "read_only": read_only}
    composer = _read_composer(services, location.thread_id) | of_page
    title = str(transcript["title"]) or _(NEW_TITLE)
    return {Ids.TRANSCRIPT: {"data": transcript}, Ids.COMPOSER: {"data": composer}, Ids.TITLE: {"children": title}}


def show_turn(services: Services, turn: Turn) -> TurnChanges:
    thread_id, version, run = turn.thread.id, turn.thread.version, turn.run
    messages = _describe_messages(services, turn.thread, turn.messages, run.state if run else None)
    first_operation = (
        turn.operations[-1] if turn.operations else chat_actions.find_notice_operation(services.store, thread_id)
    )
    notice = operations.describe_notice(first_operation)
    shown_run = {"run": list_rows.describe_run(run), "is_waiting": _is_waiting(run), "rerun": _describe_rerun(services, run)}
    questions = _describe_questions(services, turn.thread, run)
    fields = {"version": version, **questions, "title": turn.thread.title, **shown_run, "notice": notice}
    fields["is_graph"] = _is_of_graph(turn.thread)
    if turn.operations:
        fields["removed"] = None
    composer = _describe_run_state(services, turn.thread, run) | {"limits": describe_limits(services.store, turn.thread)}
    return TurnChanges(
        {Ids.TITLE: {"children": turn.thread.title}},
        {Ids.TRANSCRIPT: {"fields": fields, "items": {"messages": messages}}, Ids.COMPOSER: {"fields": composer}},
    )


ACTIONS: Mapping[str, Handlers] = {
    Ids.COMPOSER: chat_actions.COMPOSER_ACTIONS,
    Ids.TRANSCRIPT: chat_actions.TRANSCRIPT_ACTIONS,
    HISTORY_ID: chat_actions.HISTORY_ACTIONS,
}


def _read_transcript(
    services: Services, thread_id: str | None, window: message_window.MessageWindow, closed_notice: str | None
) -> dict[str, Any]:
    if thread_id is None:
        return build_start_page() | _describe_beginnings(services)
    store = services.store
    thread = store.get_thread(thread_id)
    messages, earlier, later = message_window.read_window(store, thread_id, window)
    notice = operations.describe_notice(chat_actions.find_notice_operation(store, thread_id))
    if notice and notice["version"] == closed_notice:
        notice = None
    portions = window["count"] // message_window.WINDOW_MESSAGES
    run = services.runs.get_latest_run(thread_id)
    # A running or waiting call is at the end of the conversation.
    state = run.state if run and not later else None
    question = None if later else candidates.find_question(messages)
    several = candidates.find_run(services, messages[question], run) if question is not None else None
    if several is not None and question is not None:
        messages = messages[: question + 1]
    shown = _describe_messages(services, thread, messages, state, portions)
    marks = tree_reader.read_marks(store, messages)
    removed = None if later else tree_reader.read_removed_part(store, thread_id, time_marks.READ_REMOVED_MESSAGES)
    return {
        "thread": thread_id,
        "version": thread.version,
        "title": thread.title,
        "messages": shown,
        "marks": time_marks.describe_marks(marks, messages, shown),
        "removed": time_marks.describe_removed_part(removed, thread_id),
        **(NO_QUESTIONS if later else _describe_questions(services, thread, run)),
        "earlier": earlier,
        "later": later,
        "is_graph": _is_of_graph(thread),
        "run": list_rows.describe_run(run),
        "is_waiting": _is_waiting(run),
        "rerun": None if later else _describe_rerun(services, run),
        "candidates": _describe_candidates(services, thread, several) if several else None,
        "notice": notice,
        "suggestions": list_suggestions(ThreadSettings.from_thread(thread).graph),
    }


def _is_alone(store: Store, thread_id: str | None) -> bool:
    """Return whether nobody else writes in a conversation: what was stopped here, this person has stopped."""
    if thread_id is None or not store.database.separates_owners:
        return True
    is_own = store.get_thread(thread_id).owner == store.database.name_owner()
    return is_own and not Members(store).list_members(thread_id)


def _is_waiting(run: Run | None) -> bool:
    return run is not None and run.state is RunState.WAITING


def _is_of_graph(thread: Thread) -> bool:
    """Return whether a user graph answers. A retry would run its nodes again and may repeat their actions."""
    return bool(ThreadSettings.from_thread(thread).graph)


def _describe_beginnings(services: Services) -> dict[str, Any]:
    """Describe what the start page offers to begin with."""
    suggestions = list_suggestions(services.runner.graphs.default)
    is_newcomer = len(services.store.list_threads(limit=NEWCOMER_THREADS)) < NEWCOMER_THREADS
    return {"suggestions": suggestions, "example": is_newcomer and bool(suggestions) and get_acting_role() != READER}


def _describe_candidates(services: Services, thread: Thread, run: Run) -> candidates.CandidatesView:
    extras = message_view.MessageExtras(prices=services.prices, to_html=services.renderer.page())
    return candidates.describe_candidates(services, thread, run, extras)


def _describe_messages(
    services: Services, thread: Thread, messages: Sequence[Message], state: RunState | None, portions: int = 1
) -> list[message_view.MessageView]:
    store, thread_id, is_user_graph = services.store, thread.id, bool(ThreadSettings.from_thread(thread).graph)
    is_waiting = state is RunState.WAITING
    move_ids = services.runner.list_move_calls(thread_id) if is_waiting and is_user_graph else ()
    extras = message_view.MessageExtras(
        run_state=state,
        waiting_moves=approval.describe_waiting_moves(services.runner.inputs, thread_id)
        if move_ids or (is_waiting and not is_user_graph)
        else {},
        decidable_ids=move_ids if is_user_graph else None,
        siblings=store.find_alternatives(thread_id, messages),
        trace_links=_find_trace_links(services, messages),
        prices=services.prices,
        attempts=fork_attempts.read_attempts(store, thread_id, messages),
        to_html=services.renderer.page(),
        portions=portions,
    )
    return message_view.describe_messages(messages, extras)


def _describe_questions(services: Services, thread: Thread, run: Run | None) -> question_forms.QuestionsView:
    """Describe the open questions of a user graph, unless it is at work."""
    state = run.state if run else None
    if not ThreadSettings.from_thread(thread).graph or state is RunState.RUNNING:
        return NO_QUESTIONS
    rest = services.runner.read_rest(thread.id, with_drafts=state is RunState.WAITING)
    if rest.questions and state is not RunState.WAITING:
        # The answer failed or was stopped.
        rest = services.runner.read_rest(thread.id, with_drafts=True)
    is_waiting = state is RunState.WAITING and not rest.move_ids
    questions = question_forms.describe_questions(rest.questions, is_waiting=is_waiting)
    drafts = rest.drafts if questions else []
    return {"questions": questions, "drafts": question_forms.describe_drafts(drafts, services.renderer.page())}


def _find_trace_links(services: Services, messages: Sequence[Message]) -> dict[str, str]:
    """Return the addresses of the answers' traces by answer id. An address is empty while it is not known."""
    tracer = services.tracer
    return {m.id: tracer.link_run(m.run_id) for m in messages if m.type == "ai" and m.run_id} if tracer.is_on else {}


def _build_deleted_page(store: Store, thread_id: str) -> dict[str, Any]:
    """Build the page of an unlisted conversation: the start page, with Undo if the conversation was deleted."""
    last = store.get_last_operation(thread_id)
    if last is None:
        return {**build_start_page(), "title": _(MISSING_TITLE), "missing": True}
    notice = {"version": str(last.version), "text": _("This conversation was deleted")}
    return {**build_start_page(), "version": last.version, "notice": notice, "suggestions": []}


def _read_composer(services: Services, thread_id: str | None) -> dict[str, Any]:
    try:
        thread = services.store.get_thread(thread_id) if thread_id else None
    except ThreadNotFoundError:
        thread = None
    answering = {**describe_answerer(services, thread), "max_chars": limits.MAX_MESSAGE_CHARS}
    answering["limits"] = _(NO_GRAPH_TEXT) if thread and is_of_program(thread) else describe_limits(services.store, thread)
    if thread is None:
        return {**_NO_THREAD, "running": False, "asking": False, "rest": None, "meter": None, **answering}
    state = _describe_run_state(services, thread, services.runs.get_latest_run(thread.id))
    return {"thread": thread.id, **answering, **state}


def _describe_run_state(services: Services, thread: Thread, run: Run | None) -> dict[str, Any]:
    """Describe the run for the composer, and how full the model's window is."""
    state = run.state if run else None
    # A user graph knows best how full its models' windows are.
    is_user_graph = bool(ThreadSettings.from_thread(thread).graph)
    rerun = _describe_rerun(services, run)
    is_asking = rerun is not None and rerun["asking"]
    # A rerun is at work between two of its questions, too.
    is_running = state is RunState.RUNNING or (is_asking and state is RunState.DONE)
    context = None if is_user_graph else services.runner.inputs.load_context(thread.id, run if is_running else None)
    # Before the first message there is nothing to measure.
    meter = context_meter.describe_context(context) if context else None
    return {"version": thread.version, "running": is_running, "asking": is_asking, "rest": state, "meter": meter}


def _describe_rerun(services: Services, run: Run | None) -> RerunView | None:
    if run is None or run.rerun is None:
        return None
    return describe_rerun(run, services.runs.get_rerun(run.rerun), is_active=services.runner.reruns.is_asking(run))


PANEL = Panel(show=show, show_turn=show_turn, actions=ACTIONS)
