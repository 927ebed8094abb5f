"""The dispatcher of a list's actions: one request for one action, whichever panel handles it.

A list (transcript, history, threads, composer, log), or a confirmation, sends an action: `{type, request_id, version?, …}`.
Each panel names the handlers of its actions; `page` joins them, and `action_routes` runs them.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from dash.exceptions import PreventUpdate
from pydantic import Field
from typing_extensions import TypedDict

from agent.run.candidates import MAX_MODELS
from checkpoints import Caller, StateError
from checkpoints.values.limits import MAX_SELECTED_THREADS, MAX_TAGS
from components import page_state
from components.services import Services, read_caller
from components.shapes import Count, MalformedRequestError, RequestId, check_selection, check_shape
from words import say

_NULL_FIELDS = ("version", "good", "choice", "files")  # in which null has a meaning, or means nothing


class NamedUpload(TypedDict):
    """A file that an action brings, by the id of its upload."""

    id: str
    name: str


class _Fields(TypedDict, total=False):
    """The fields of all actions."""

    type: str | None
    request_id: RequestId | None
    version: Count | None
    text: str | None
    message: str | None
    thread: str | None
    title: str | None
    name: str | None
    description: str | None
    branch: str | None
    checkpoint: str | None
    call: str | None
    kind: str | None
    side: str | None
    focus: str | None
    message_id: str | None
    pinned: bool | None
    always: bool | None
    keep: str | None  # what a restore removes, in a branch: of a checkbox, there if it is checked
    length: str | None  # of a fork: with its message, or before it
    destination: str | None  # of a fork: a branch, or a thread
    good: bool | None
    count: Count | None
    run: str | None
    number: Count | None  # of a candidate
    models: Annotated[list[str], Field(max_length=MAX_MODELS)] | None  # that answer at once
    choice: dict[str, Any] | None
    inputs: dict[str, Any] | None  # of a user graph, beside a message
    seen: dict[str, Any] | None
    files: list[NamedUpload] | None
    threads: list[str] | None
    others: Annotated[list[page_state.ChangedThread], Field(max_length=MAX_SELECTED_THREADS)] | None  # see UndoTarget
    archived: bool | None
    add: Annotated[list[str], Field(max_length=MAX_TAGS)] | None  # names of tags
    remove: Annotated[list[str], Field(max_length=MAX_TAGS)] | None


class ActionFields(dict[str, Any]):
    """The fields of an action. A field that is not there is an error of the request, and not of ours."""

    def __missing__(self, key: str) -> Any:
        raise MalformedRequestError(key)

    @classmethod
    def check(cls, fields: Any) -> Self:
        """Return the fields that handlers know, in their shapes. Raises MalformedRequestError."""
        given = check_shape(_Fields, fields, "action")
        check_selection(given.get("threads") or ())
        return cls({key: value for key, value in given.items() if value is not None or key in _NULL_FIELDS})


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the user, and the page on which it happened."""

    kind: str
    fields: Mapping[str, Any]
    caller: Caller
    page_thread_id: str | None  # the thread that the page's address names
    last_update: page_state.PageUpdate | None = None
    window: Mapping[str, Any] | None = None  # the messages that the transcript holds (see message_window)

    @classmethod
    def parse(cls, given: Any, page_thread_id: str | None, **page: Any) -> Self:
        """Raises MalformedRequestError."""
        fields = ActionFields.check(given)
        return cls(str(fields["type"]), fields, read_caller(fields), page_thread_id, **page)

    @property
    def thread_id(self) -> str:
        """Return the thread of the page. The start page has none, and its lists show nothing to act on."""
        if self.page_thread_id is None:
            raise PreventUpdate
        return self.page_thread_id

    @property
    def unversioned_caller(self) -> Caller:
        """Return the caller of a change that no other change can conflict with."""
        return Caller(request_id=self.caller.request_id)

    def accept(self) -> dict[str, Any]:
        """Return the reply that ends the list's request."""
        return {"request_id": self.fields["request_id"], "ok": True, "text": None}

    def postpone(self) -> dict[str, Any]:
        """Return the reply that lets the user's text wait for the end of the answer in progress."""
        return {"request_id": self.fields["request_id"], "ok": False, "text": None, "waits": True}

    def refuse(self, reason: object) -> dict[str, Any]:
        """Return the reply that keeps the user's text and gives the reason."""
        return {"request_id": self.fields["request_id"], "ok": False, "text": say(reason)}


@dataclass(frozen=True, slots=True)
class Answer:
    """Values that the page gets for an action; None leaves a value as it is."""

    update: page_state.PageUpdate | None = None
    reply: Any = None
    window: Mapping[str, Any] | None = None


Handler = Callable[[Services, Action], Awaitable[Answer]]
Handlers = Mapping[str, Handler]  # by the action's type
Refusal = Callable[[Action, StateError], Answer]


def refuse_with_toast(_: Action, error: StateError) -> Answer:
    return Answer(page_state.report_problem(str(error)))


@dataclass(frozen=True, slots=True)
class ActionList:
    """The actions of one list: its handlers, and its way to report an error."""

    list_id: str
    handlers: Handlers
    refuse: Refusal = refuse_with_toast
    window_id: str | None = None  # the store of the list's window, where it has one


async def run_action(services: Services, actions: ActionList, action: Action) -> Answer:
    """Run the handler of an action. A refusal becomes the list's way to report it. Raises MalformedRequestError."""
    handler = actions.handlers.get(action.kind)
    if handler is None:
        raise MalformedRequestError("type")
    try:
        return await handler(services, action)
    except StateError as error:
        return actions.refuse(action, error)
