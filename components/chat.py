"""The conversation: the transcript, the composer, and what is said about the last run and the last change."""

from enum import StrEnum
from typing import Any

from dash import Dash, Input, Output, State, html
from dash.development.base_component import Component

from checkpoints import Message, Run, RunState, StateError, Store, ThreadNotFoundError
from components import head, views
from components.services import Services, asked_by
from components.widgets import Composer, Transcript

WINDOW = 50  # messages that the page holds at first, and more that each "earlier" brings
SUGGESTIONS = (
    "What can I do here?",
    "What is the weather like today?",
    "What is 12 * (3 + 4)?",
    "Show me a piece of Python",
)
_NOWHERE: dict[str, Any] = {"thread": None, "version": 0}


class Ids(StrEnum):
    TRANSCRIPT = "transcript"
    COMPOSER = "composer-panel"
    TITLE = "thread-title"


def layout() -> Component:
    return html.Div([Transcript(id=Ids.TRANSCRIPT), Composer(id=Ids.COMPOSER)], className="chat")


def transcript(
    thread_id: str, version: int, path: list[Message], earlier: bool, run: Run | None, notice: dict[str, Any] | None
) -> dict[str, Any]:
    running = run is not None and run.state is RunState.RUNNING
    return {
        "thread": thread_id,
        "version": version,
        "messages": views.messages(path, running=running),
        "earlier": earlier,
        "run": views.run(run),
        "notice": notice,
        "suggestions": list(SUGGESTIONS),
    }


def empty() -> dict[str, Any]:
    """The start page: a conversation that begins with its first message."""
    return {**_NOWHERE, "messages": [], "earlier": False, "run": None, "notice": None, "suggestions": list(SUGGESTIONS)}


def register(app: Dash, services: Services) -> None:
    store, runner = services.store, services.runner

    @app.callback(
        Output(Ids.TRANSCRIPT, "data"),
        Input(head.Ids.URL, "pathname"),
        Input(head.Ids.HEAD, "data"),
        State(Ids.TRANSCRIPT, "data"),
    )
    async def show(pathname: str | None, moved: head.Head | None, shown: dict[str, Any] | None) -> dict[str, Any]:
        thread_id = head.thread_at(pathname)
        held = len(shown["messages"]) if shown and shown.get("thread") == thread_id else 0
        try:
            return await services.read(_read, services, thread_id, held, moved or {})
        except ThreadNotFoundError:
            return empty()

    @app.callback(Output(Ids.COMPOSER, "data"), Input(head.Ids.URL, "pathname"), Input(head.Ids.HEAD, "data"))
    async def show_composer(pathname: str | None, moved: head.Head | None) -> dict[str, Any]:
        thread_id = head.thread_at(pathname)
        at = await services.read(_standing, services, thread_id)
        said = {"reply": (moved or {}).get("reply"), "fill": (moved or {}).get("fill")}
        return {**at, **said, "model": services.model, "demo": services.demo}

    @app.callback(Output(Ids.TITLE, "children"), Input(head.Ids.URL, "pathname"), Input(head.Ids.HEAD, "data"))
    async def show_title(pathname: str | None, _: head.Head | None) -> str:
        thread_id = head.thread_at(pathname)
        return await services.read(_title, store, thread_id)

    @app.callback(
        head.output(),
        Input(Ids.COMPOSER, "action"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def compose(action: dict[str, Any], pathname: str) -> head.Head:
        thread_id = head.thread_at(pathname)
        reply = {"op": action["op"], "ok": True, "text": None}
        try:
            if action["type"] == "stop" and thread_id:
                await runner.stop(thread_id)
            elif action["type"] == "send":
                run = await runner.send(thread_id, action["text"], by=asked_by(action))
                if run.thread_id != thread_id:
                    return head.moved(go=head.address(run.thread_id), reply=reply)
        except StateError as error:
            reply = {"op": action["op"], "ok": False, "text": str(error)}
        return head.moved(reply=reply)

    @app.callback(
        head.output(),
        Input(Ids.TRANSCRIPT, "action"),
        State(head.Ids.URL, "pathname"),
        State(Ids.TRANSCRIPT, "data"),
        prevent_initial_call=True,
    )
    async def act(action: dict[str, Any], pathname: str, shown: dict[str, Any]) -> head.Head:
        try:
            return await _carry_out(services, action, head.thread_at(pathname), shown)
        except ThreadNotFoundError:
            return head.moved(go="/")
        except StateError as error:
            return head.problem(str(error))


async def _carry_out(services: Services, action: dict[str, Any], thread_id: str | None, shown: dict[str, Any]) -> head.Head:
    """One wish that came from the transcript."""
    runner, by = services.runner, asked_by(action)
    match action["type"], thread_id:
        case "suggest", _:
            run = await runner.send(thread_id, action["text"], by=by)
            return head.moved(go=head.address(run.thread_id))
        case _, None:
            return head.moved()
        case "retry", str():
            await runner.retry(thread_id, by=by)
        case "continue", str():
            await runner.go_on(thread_id, by=by)
        case "dismiss", str() if shown["run"]:
            await services.read(services.runs.dismiss, shown["run"]["id"])
        case "undo", str():
            await services.change(services.store.undo, thread_id, by=by)
        case "close-notice", str() if shown["notice"]:
            return head.moved(closed=shown["notice"]["op"])
        case "earlier", str():
            return head.moved(earlier=True)
    return head.moved()


def _read(services: Services, thread_id: str | None, held: int, moved: head.Head) -> dict[str, Any]:
    if thread_id is None:
        return empty()
    thread = services.store.thread(thread_id)
    wanted = max(WINDOW, held + (WINDOW if moved.get("earlier") else 0))
    path = services.store.messages(thread_id, last=wanted + 1)
    notice = views.notice(services.store.last_operation(thread_id))
    if notice and notice["op"] == moved.get("closed"):
        notice = None
    run = services.runs.latest(thread_id)
    return transcript(thread_id, thread.version, path[-wanted:], len(path) > wanted, run, notice)


def _standing(services: Services, thread_id: str | None) -> dict[str, Any]:
    try:
        thread = services.store.thread(thread_id) if thread_id else None
    except ThreadNotFoundError:
        thread = None
    if thread is None:
        return {**_NOWHERE, "running": False}
    run = services.runs.latest(thread.id)
    return {"thread": thread.id, "version": thread.version, "running": run is not None and run.state is RunState.RUNNING}


def _title(store: Store, thread_id: str | None) -> str:
    try:
        return store.thread(thread_id).title if thread_id else ""
    except ThreadNotFoundError:
        return ""
