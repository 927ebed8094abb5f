"""The conversation: the transcript, the composer, and what is said about the last run and the last change."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from agent.choice import Choice
from agent.runner import another_text
from agent.tracing import Feedback
from checkpoints import (
    By,
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
from components import approval, compaction, forks, head, meter, operations, stretch, views
from components.services import Services, asked_by
from components.widgets import TRANSCRIPT, Composer, Transcript

_ROUND = 30  # messages, or changes, further back among which is looked for what one run began with
ELSEWHERE = ("fork", "switch")  # the transcript's actions that another panel carries out
EDITS = ("edit", "change")  # actions that a field with a text waits for
SUGGESTIONS = (
    "What can I do here?",
    "What is the weather like today?",
    "What is 12 * (3 + 4)?",
    "Show me a piece of Python",
)
BEGUN_ANEW = "That conversation is not there any more, so your message began a new one."
_NOWHERE: dict[str, Any] = {"thread": None, "version": 0}


class Ids(StrEnum):
    TRANSCRIPT = TRANSCRIPT
    COMPOSER = "composer-panel"
    TITLE = "thread-title"
    WINDOW = "transcript-window"  # which messages the page holds (see stretch.py)


def layout() -> Component:
    return html.Div([Transcript(id=Ids.TRANSCRIPT), Composer(id=Ids.COMPOSER), dcc.Store(id=Ids.WINDOW)], className="chat")


def empty() -> dict[str, Any]:
    """The start page: a conversation that begins with its first message."""
    nothing = {"title": "", "messages": [], "earlier": False, "later": False, "run": None, "notice": None}
    return {**_NOWHERE, **nothing, "suggestions": list(SUGGESTIONS)}


SHOWN = ((Ids.TRANSCRIPT, "data"), (Ids.COMPOSER, "data"), (Ids.TITLE, "children"))


def show(services: Services, at: head.Place) -> tuple[dict[str, Any], dict[str, Any], str]:
    try:
        transcript = _read(services, at.thread_id, stretch.stretch(at.window, at.thread_id), at.head.get("closed"))
    except ThreadNotFoundError:
        transcript = _gone(services.store, at.thread_id or "")
    composer = _standing(services, at.thread_id) | {"fill": at.head.get("fill")}
    return transcript, composer, str(transcript["title"])


def register(app: Dash, services: Services) -> None:
    store, runner = services.store, services.runner

    @app.callback(
        head.output(),
        Output(Ids.COMPOSER, "reply"),
        Input(Ids.COMPOSER, "action"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def compose(action: dict[str, Any], pathname: str) -> tuple[head.Head, dict[str, Any]]:
        """The reply goes to the composer itself: a head may be passed over when the next one follows at once."""
        thread_id = head.thread_at(pathname)
        reply = {"op": action["op"], "ok": True, "text": None}
        try:
            if action["type"] == "stop" and thread_id:
                await runner.stop(thread_id)
            elif action["type"] == "send":
                run = await _send(services, thread_id, action)
                if run.thread_id != thread_id:
                    told: Any = {"toast": {"text": BEGUN_ANEW, "undo": None}} if thread_id else {}
                    return head.moved(go=head.address(run.thread_id), **told), reply
        except StateError as error:
            reply = {"op": action["op"], "ok": False, "text": str(error)}
        return head.moved(), reply

    @app.callback(
        head.output(),
        Output(Ids.WINDOW, "data"),
        Output(Ids.TRANSCRIPT, "reply"),
        Input(Ids.TRANSCRIPT, "action"),
        State(head.Ids.URL, "pathname"),
        State(Ids.WINDOW, "data"),
        State(head.Ids.HEAD, "data"),
        prevent_initial_call=True,
    )
    async def act(action: dict[str, Any], pathname: str, window: Any, before: head.Head | None) -> tuple[Any, Any, Any]:
        """The reply is for what was being edited: it closes the field, or says why the text stays in it."""
        thread_id, kind = head.thread_at(pathname), action["type"]
        held, reply = stretch.stretch(window, thread_id), {"op": action["op"], "ok": True, "text": None}
        if kind in ELSEWHERE:
            raise PreventUpdate
        if kind == "refresh":
            return head.again(before), no_update, no_update
        try:
            if kind in stretch.MOVES:
                return no_update, await services.read(stretch.moved, store, thread_id or "", held, action), no_update
            if kind == "feedback":  # nothing that the page shows changes by it
                await services.read(_rate, services, thread_id or "", action)
                return no_update, no_update, reply
            moved = await _carry_out(services, action, thread_id)
            if kind == "choose":
                held = await services.read(stretch.reaching, store, thread_id or "", action["message"], held)
        except ThreadNotFoundError:
            return head.moved(go="/"), no_update, no_update
        except StateError as error:
            refused = {**reply, "ok": False, "text": str(error)}
            return head.again(before) if kind in EDITS else head.problem(str(error)), no_update, refused
        return moved, held if kind == "choose" else no_update, reply


async def _send(services: Services, thread_id: str | None, action: dict[str, Any]) -> Run:
    """Begin to answer; where the page shows no conversation, although its address names one, in a new one."""
    shows_one = bool(action.get("version"))
    if thread_id is not None and not shows_one and not await services.read(services.store.has, thread_id):
        thread_id = None
    attached = await services.work(files.received, action.get("files") or [])
    by = asked_by(action)
    by = by if thread_id else By(request=by.request)
    if (part := compaction.command(action["text"], attached=bool(attached))) is not None:
        return await services.runner.compact(thread_id, part, by=by)
    return await services.runner.send(thread_id, action["text"], by=by, choice=action.get("choice"), attached=attached)


async def _carry_out(services: Services, action: dict[str, Any], thread_id: str | None) -> head.Head:
    """One wish that came from the transcript."""
    runner, by = services.runner, asked_by(action)
    match action["type"], thread_id:
        case "suggest", _:
            run = await _send(services, thread_id, action)
            return head.moved(go=head.address(run.thread_id))
        case _, None:
            return head.moved()
        case "retry" | "regenerate", str():
            await runner.retry(thread_id, by=by, message_id=action.get("message"))
        case "edit", str():
            await runner.edit(thread_id, action["message"], action["text"], by=by)
        case "change", str():
            changed = await services.read(services.store.message, thread_id, action["message"])
            new = another_text(changed, action["text"])
            await services.change(services.store.replace, thread_id, action["message"], new, by=by)
        case "summarise", str():
            await runner.compact(thread_id, compaction.part(action), by=by)
        case "choose", str():
            await services.change(services.store.choose, thread_id, action["message"], by=by)
        case "decide", str():
            await approval.decide(services, thread_id, action)
        case "continue", str():
            await runner.go_on(thread_id, by=by)
        case "dismiss", str():
            await services.work(services.runs.dismiss, thread_id)
        case "undo", str():
            last = await services.read(services.store.last_operation, thread_id)
            taken_back = last is not None and last.kind is OperationKind.UNDO  # as of an import, whose undo hid the thread
            verb = services.store.redo if taken_back else services.store.undo
            return head.undone(thread_id, (await services.change(verb, thread_id, by=by)).version)
        case "close-notice", str():
            last = await services.read(_telling, services.store, thread_id)
            return head.moved(closed=str(last.version) if last else "")
    return head.moved()


def _read(services: Services, thread_id: str | None, wanted: stretch.Stretch, closed: str | None) -> dict[str, Any]:
    if thread_id is None:
        return empty()
    store = services.store
    thread = store.thread(thread_id)
    held, earlier, later = stretch.read(store, thread_id, wanted)
    notice = operations.notice(_telling(store, thread_id))
    if notice and notice["op"] == closed:
        notice = None
    run = services.runs.latest(thread_id)
    state = run.state if run and not later else None  # what is at work, or waits, stands at the end
    shown = views.messages(
        held,
        running=state is RunState.RUNNING,
        waiting=state is RunState.WAITING,
        moves=approval.moves(store, thread_id) if state is RunState.WAITING else {},
        siblings=store.siblings(thread_id, held),
        traces=_traces(services, held),
        prices=services.prices,
        ways=forks.ways(store, thread_id, held),
        to_html=services.renderer.page(),
    )
    return {
        "thread": thread_id,
        "version": thread.version,
        "title": thread.title,
        "messages": shown,
        "earlier": earlier,
        "later": later,
        "run": views.run(run),
        "notice": notice,
        "suggestions": list(SUGGESTIONS),
    }


def _telling(store: Store, thread_id: str) -> Operation | None:
    """The change that the banner tells of: the newest (what the judge saved aside); of a run that wrote the newest messages
    its last move through time, or else what began it.
    """
    newest = [op for op in store.operations(thread_id, last=_ROUND) if op.actor != "judge"]
    if not newest or newest[0].group is None:
        return newest[0] if newest else None
    of_the_run = [op for op in newest if op.group == newest[0].group]
    moves = (OperationKind.GOTO, OperationKind.REWIND)
    return next((op for op in of_the_run if op.kind in moves), of_the_run[-1])


def _traces(services: Services, held: Sequence[Message]) -> dict[str, str]:
    """Where the answers are traced, by their ids: of each the address of its trace, empty while it is not known."""
    tracer = services.tracer
    return {m.id: tracer.link(m.run_id) for m in held if m.type == "ai" and m.run_id} if tracer.on else {}


def _rate(services: Services, thread_id: str, action: dict[str, Any]) -> None:
    """Pass on what the user thinks of an answer; None takes it back."""
    answer, good = services.store.message(thread_id, action["message"]), action["good"]
    if answer.run_id:
        services.tracer.tell(Feedback(answer.run_id, answer.id, good if good is None else bool(good)))


def _gone(store: Store, thread_id: str) -> dict[str, Any]:
    """The page of a conversation that is not in the list: the start page, with the way back if it was deleted."""
    last = store.last_operation(thread_id)
    if last is None:
        return empty()
    notice = {"op": str(last.version), "text": "This conversation was deleted"}
    return {**empty(), "version": last.version, "notice": notice, "suggestions": []}


def _standing(services: Services, thread_id: str | None) -> dict[str, Any]:
    try:
        thread = services.store.thread(thread_id) if thread_id else None
    except ThreadNotFoundError:
        thread = None
    name = Choice.of(thread).model if thread else ""
    answering = {"model": name or services.models.default, "demo": services.demo(name or services.models.default)}
    if thread is None:
        return {**_NOWHERE, "running": False, "rest": None, "meter": None, **answering}
    run = services.runs.latest(thread.id)
    state = run.state if run else None
    at = {"thread": thread.id, "version": thread.version, "running": state is RunState.RUNNING, "rest": state}
    return {**at, **answering, "meter": meter.view(services, thread.id)}
