"""The conversation: the transcript, the composer, and what is said about the last run and the last change."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from agent.run.requests import replace_text
from agent.settings import ThreadSettings
from agent.tracing.events import Feedback
from checkpoints import (
    Caller,
    Message,
    Operation,
    OperationKind,
    Run,
    RunState,
    StateError,
    Store,
    ThreadNotFoundError,
    files,
)
from components import page_state
from components.panels import approval
from components.routes import thread_usage
from components.services import Services, read_caller
from components.views import fork_attempts, message_view, message_window, notes, operations
from components.widgets import TRANSCRIPT_ID, Composer, Transcript

MAX_RUN_OPERATIONS = 30  # messages, or changes, further back among which is looked for what one run began with
BRANCH_ACTIONS = ("fork", "switch")  # the transcript's actions that another panel carries out
EDIT_ACTIONS = ("edit", "change")  # actions that a field with a text waits for
SUGGESTIONS = (
    "What can I do here?",
    "What is the weather like today?",
    "What is 12 * (3 + 4)?",
    "Show me a piece of Python",
)
NEW_THREAD_NOTICE = "That conversation is not there any more, so your message began a new one."
_NO_THREAD: dict[str, Any] = {"thread": None, "version": 0}


class Ids(StrEnum):
    TRANSCRIPT = TRANSCRIPT_ID
    COMPOSER = "composer-panel"
    TITLE = "thread-title"
    WINDOW = "transcript-window"  # which messages the page holds (see stretch.py)


def layout() -> Component:
    return html.Div([Transcript(id=Ids.TRANSCRIPT), Composer(id=Ids.COMPOSER), dcc.Store(id=Ids.WINDOW)], className="chat")


def build_start_page() -> dict[str, Any]:
    """The start page: a conversation that begins with its first message."""
    nothing = {"title": "", "messages": [], "earlier": False, "later": False, "run": None, "notice": None}
    return {**_NO_THREAD, **nothing, "suggestions": list(SUGGESTIONS)}


SHOWN = ((Ids.TRANSCRIPT, "data"), (Ids.COMPOSER, "data"), (Ids.TITLE, "children"))


def show(services: Services, location: page_state.PageLocation) -> tuple[dict[str, Any], dict[str, Any], str]:
    try:
        transcript = _read_transcript(
            services,
            location.thread_id,
            message_window.resolve_window(location.window, location.thread_id),
            location.last_update.get("closed"),
        )
    except ThreadNotFoundError:
        transcript = _build_deleted_page(services.store, location.thread_id or "")
    composer = _read_composer(services, location.thread_id) | {"fill": location.last_update.get("fill")}
    return transcript, composer, str(transcript["title"])


def register(app: Dash, services: Services) -> None:
    store, runner = services.store, services.runner

    @app.callback(
        page_state.update_output(),
        Output(Ids.COMPOSER, "reply"),
        Input(Ids.COMPOSER, "action"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def handle_composer(action: dict[str, Any], pathname: str) -> tuple[page_state.PageUpdate, dict[str, Any]]:
        """The reply goes to the composer itself: a head may be passed over when the next one follows at once."""
        thread_id = page_state.parse_thread_id(pathname)
        reply = {"op": action["op"], "ok": True, "text": None}
        try:
            if action["type"] == "stop" and thread_id:
                await runner.stop(thread_id)
            elif action["type"] == "send":
                run = await _send_prompt(services, thread_id, action)
                if run.thread_id != thread_id:
                    told: Any = {"toast": {"text": NEW_THREAD_NOTICE, "undo": None}} if thread_id else {}
                    return page_state.build_update(go=page_state.thread_address(run.thread_id), **told), reply
        except StateError as error:
            reply = {"op": action["op"], "ok": False, "text": str(error)}
        return page_state.build_update(), reply

    @app.callback(
        page_state.update_output(),
        Output(Ids.WINDOW, "data"),
        Output(Ids.TRANSCRIPT, "reply"),
        Input(Ids.TRANSCRIPT, "action"),
        State(page_state.Ids.URL, "pathname"),
        State(Ids.WINDOW, "data"),
        State(page_state.Ids.UPDATE, "data"),
        prevent_initial_call=True,
    )
    async def handle_transcript(
        action: dict[str, Any], pathname: str, window: Any, last_update: page_state.PageUpdate | None
    ) -> tuple[Any, Any, Any]:
        """The reply is for what was being edited: it closes the field, or says why the text stays in it."""
        thread_id, kind = page_state.parse_thread_id(pathname), action["type"]
        held, reply = message_window.resolve_window(window, thread_id), {"op": action["op"], "ok": True, "text": None}
        if kind in BRANCH_ACTIONS:
            raise PreventUpdate
        if kind == "refresh":
            return page_state.refresh_panels(last_update), no_update, no_update
        try:
            if kind in message_window.WINDOW_ACTIONS:
                return (
                    no_update,
                    await services.read_snapshot(message_window.move_window, store, thread_id or "", held, action),
                    no_update,
                )
            if kind == "feedback":  # nothing that the page shows changes by it
                await services.read_snapshot(_send_feedback, services, thread_id or "", action)
                return no_update, no_update, reply
            moved = await _run_transcript_action(services, action, thread_id)
            if kind == "choose":
                held = await services.read_snapshot(
                    message_window.extend_window, store, thread_id or "", action["message"], held
                )
        except ThreadNotFoundError:
            return page_state.build_update(go="/"), no_update, no_update
        except StateError as error:
            refused = {**reply, "ok": False, "text": str(error)}
            return (
                page_state.refresh_panels(last_update) if kind in EDIT_ACTIONS else page_state.report_problem(str(error)),
                no_update,
                refused,
            )
        return moved, held if kind == "choose" else no_update, reply


async def _send_prompt(services: Services, thread_id: str | None, action: dict[str, Any]) -> Run:
    """Begin to answer; where the page shows no conversation, although its address names one, in a new one."""
    shows_one = bool(action.get("version"))
    if thread_id is not None and not shows_one and not await services.read_snapshot(services.store.thread_exists, thread_id):
        thread_id = None
    attached = await services.run_blocking(files.decode_uploads, action.get("files") or [])
    by = read_caller(action)
    by = by if thread_id else Caller(request_id=by.request_id)
    if (part := notes.parse_compact_command(action["text"], attached=bool(attached))) is not None:
        return await services.runner.compact(thread_id, part, caller=by)
    return await services.runner.send(
        thread_id, action["text"], caller=by, chosen_settings=action.get("choice"), attachments=attached
    )


async def _run_transcript_action(services: Services, action: dict[str, Any], thread_id: str | None) -> page_state.PageUpdate:
    """One wish that came from the transcript."""
    runner, by = services.runner, read_caller(action)
    match action["type"], thread_id:
        case "suggest", _:
            run = await _send_prompt(services, thread_id, action)
            return page_state.build_update(go=page_state.thread_address(run.thread_id))
        case _, None:
            return page_state.build_update()
        case "retry" | "regenerate", str():
            await runner.retry(thread_id, caller=by, message_id=action.get("message"))
        case "edit", str():
            await runner.edit(thread_id, action["message"], action["text"], caller=by)
        case "change", str():
            changed = await services.read_snapshot(services.store.get_message, thread_id, action["message"])
            new = replace_text(changed, action["text"])
            await services.apply_change(services.store.replace, thread_id, action["message"], new, caller=by)
        case "summarise", str():
            await runner.compact(thread_id, notes.read_summary_scope(action), caller=by)
        case "choose", str():
            await services.apply_change(services.store.choose, thread_id, action["message"], caller=by)
        case "decide", str():
            await approval.submit_decision(services, thread_id, action)
        case "continue", str():
            await runner.continue_answer(thread_id, caller=by)
        case "dismiss", str():
            await services.run_blocking(services.runs.dismiss_latest, thread_id)
        case "undo", str():
            last = await services.read_snapshot(services.store.get_last_operation, thread_id)
            taken_back = last is not None and last.kind is OperationKind.UNDO  # as of an import, whose undo hid the thread
            verb = services.store.redo if taken_back else services.store.undo
            return page_state.update_after_undo(thread_id, (await services.apply_change(verb, thread_id, caller=by)).version)
        case "close-notice", str():
            last = await services.read_snapshot(_find_notice_operation, services.store, thread_id)
            return page_state.build_update(closed=str(last.version) if last else "")
    return page_state.build_update()


def _read_transcript(
    services: Services, thread_id: str | None, window: message_window.MessageWindow, closed_notice: str | None
) -> dict[str, Any]:
    if thread_id is None:
        return build_start_page()
    store = services.store
    thread = store.get_thread(thread_id)
    held, earlier, later = message_window.read_window(store, thread_id, window)
    notice = operations.describe_notice(_find_notice_operation(store, thread_id))
    if notice and notice["op"] == closed_notice:
        notice = None
    run = services.runs.get_latest_run(thread_id)
    state = run.state if run and not later else None  # what is at work, or waits, stands at the end
    shown = message_view.describe_messages(
        held,
        running=state is RunState.RUNNING,
        waiting=state is RunState.WAITING,
        waiting_moves=approval.describe_waiting_moves(store, thread_id) if state is RunState.WAITING else {},
        siblings=store.find_alternatives(thread_id, held),
        traces=_find_trace_links(services, held),
        prices=services.prices,
        attempts=fork_attempts.read_attempts(store, thread_id, held),
        to_html=services.renderer.page(),
    )
    return {
        "thread": thread_id,
        "version": thread.version,
        "title": thread.title,
        "messages": shown,
        "earlier": earlier,
        "later": later,
        "run": message_view.describe_run(run),
        "notice": notice,
        "suggestions": list(SUGGESTIONS),
    }


def _find_notice_operation(store: Store, thread_id: str) -> Operation | None:
    """The change that the banner tells of: the newest (what the judge saved aside); of a run that wrote the newest messages
    its last move through time, or else what began it.
    """
    newest = [op for op in store.list_operations(thread_id, last=MAX_RUN_OPERATIONS) if op.actor != "judge"]
    if not newest or newest[0].undo_group is None:
        return newest[0] if newest else None
    of_the_run = [op for op in newest if op.undo_group == newest[0].undo_group]
    moves = (OperationKind.GOTO, OperationKind.REWIND)
    return next((op for op in of_the_run if op.kind in moves), of_the_run[-1])


def _find_trace_links(services: Services, messages: Sequence[Message]) -> dict[str, str]:
    """Where the answers are traced, by their ids: of each the address of its trace, empty while it is not known."""
    tracer = services.tracer
    return {m.id: tracer.link_run(m.run_id) for m in messages if m.type == "ai" and m.run_id} if tracer.is_on else {}


def _send_feedback(services: Services, thread_id: str, action: dict[str, Any]) -> None:
    """Pass on what the user thinks of an answer; None takes it back."""
    answer, good = services.store.get_message(thread_id, action["message"]), action["good"]
    if answer.run_id:
        services.tracer.record(Feedback(answer.run_id, answer.id, good if good is None else bool(good)))


def _build_deleted_page(store: Store, thread_id: str) -> dict[str, Any]:
    """The page of a conversation that is not in the list: the start page, with the way back if it was deleted."""
    last = store.get_last_operation(thread_id)
    if last is None:
        return build_start_page()
    notice = {"op": str(last.version), "text": "This conversation was deleted"}
    return {**build_start_page(), "version": last.version, "notice": notice, "suggestions": []}


def _read_composer(services: Services, thread_id: str | None) -> dict[str, Any]:
    try:
        thread = services.store.get_thread(thread_id) if thread_id else None
    except ThreadNotFoundError:
        thread = None
    name = ThreadSettings.from_thread(thread).model if thread else ""
    answering = {
        "model": name or services.models.default_spec,
        "demo": services.describe_demo(name or services.models.default_spec),
    }
    if thread is None:
        return {**_NO_THREAD, "running": False, "rest": None, "meter": None, **answering}
    run = services.runs.get_latest_run(thread.id)
    state = run.state if run else None
    at = {"thread": thread.id, "version": thread.version, "running": state is RunState.RUNNING, "rest": state}
    return {**at, **answering, "meter": thread_usage.read_context_meter(services, thread.id)}
