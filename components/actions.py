"""The dispatcher of a list's actions: a request for each action, whichever panel handles it.

A list (transcript, history, threads, composer, log) or a confirmation sends an action: `{type, request_id, version?, …}`.
Each panel names the handlers of its actions. `page` joins them, and `action_routes` runs them.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from dash.exceptions import PreventUpdate
from pydantic import Field
from typing_extensions import TypedDict

from agent.run.candidates import MAX_MODELS
from checkpoints import Caller, NotFoundError, StateError
from checkpoints.values.limits import MAX_SELECTED_THREADS, MAX_TAGS
from components import page_state
from components.services import Services, read_caller
from components.shapes import Count, MalformedRequestError, RequestId, check_selection, check_shape
from words import _, say

# In these fields null has a meaning of its own, or means nothing.
_NULL_FIELDS = ("version", "good", "choice", "files")


class NamedUpload(TypedDict):
    """A file of an action, named by the id of its upload."""

    id: str
    name: str


class _Fields(TypedDict, total=False):
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
    # `keep` comes from a checkbox, only if it is checked: a restore keeps the removed messages in a branch.
    keep: str | None
    # A fork includes its message or ends before it, and makes a branch or a thread.
    length: str | None
    destination: str | None
    good: bool | None
    count: Count | None
    run: str | None
    # The number identifies a candidate.
    number: Count | None
    # Several models answer at once.
    models: Annotated[list[str], Field(max_length=MAX_MODELS)] | None
    choice: dict[str, Any] | None
    # A user graph takes these inputs beside the message. They are JSON as text: the browser's numbers are not exact.
    inputs: str | None
    seen: dict[str, Any] | None
    files: list[NamedUpload] | None
    threads: list[str] | None
    # The same action changed these threads as well (see `UndoTarget`).
    others: Annotated[list[page_state.ChangedThread], Field(max_length=MAX_SELECTED_THREADS)] | None
    archived: bool | None
    # Tags are added and removed by their names.
    add: Annotated[list[str], Field(max_length=MAX_TAGS)] | None
    remove: Annotated[list[str], Field(max_length=MAX_TAGS)] | None


class ActionFields(dict[str, Any]):
    """The fields of an action. A missing field is an error of the request, so it raises `MalformedRequestError`."""

    def __missing__(self, key: str) -> Any:
        raise MalformedRequestError(key)

    @classmethod
    def check(cls, fields: Any) -> Self:
        """Return the known fields, checked against `_Fields`. Raises `MalformedRequestError`."""
        given = check_shape(_Fields, fields, "action")
        check_selection(given.get("threads") or ())
        return cls({key: value for key, value in given.items() if value is not None or key in _NULL_FIELDS})


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the user, and the page on which it happened."""

    kind: str
    fields: Mapping[str, Any]
    caller: Caller
    # The page's address names this thread.
    page_thread_id: str | None
    last_update: page_state.PageUpdate | None = None
    # The transcript holds these messages (see `message_window`).
    window: Mapping[str, Any] | None = None

    @classmethod
    def parse(cls, given: Any, page_thread_id: str | None, **page: Any) -> Self:
        """Raises MalformedRequestError."""
        fields = ActionFields.check(given)
        return cls(str(fields["type"]), fields, read_caller(fields), page_thread_id, **page)

    @property
    def thread_id(self) -> str:
        """The thread of the page. The start page has none and nothing to act on: it raises `PreventUpdate`."""
        if self.page_thread_id is None:
            raise PreventUpdate
        return self.page_thread_id

    @property
    def unversioned_caller(self) -> Caller:
        """The caller of a change without possible conflicts."""
        return Caller(request_id=self.caller.request_id)

    def accept(self) -> dict[str, Any]:
        """Return the reply to a completed request of the list."""
        return {"request_id": self.fields["request_id"], "ok": True, "text": None}

    def postpone(self) -> dict[str, Any]:
        """Return a reply after which the browser keeps the user's text until the answer in progress has ended."""
        return {"request_id": self.fields["request_id"], "ok": False, "text": None, "waits": True}

    def refuse(self, reason: object) -> dict[str, Any]:
        """Return a reply after which the browser keeps the user's text and shows the reason."""
        return {"request_id": self.fields["request_id"], "ok": False, "text": say_refusal(reason)}


@dataclass(frozen=True, slots=True)
class Answer:
    """Values for the page after an action; None leaves a value as it is."""

    update: page_state.PageUpdate | None = None
    reply: Any = None
    window: Mapping[str, Any] | None = None


Handler = Callable[[Services, Action], Awaitable[Answer]]
# Handlers are found by the action's type.
Handlers = Mapping[str, Handler]
Refusal = Callable[[Action, StateError], Answer]


def say_refusal(reason: object) -> str:
    """Return the sentence for a refusal. That of a thing that is not found names an id, which tells a person nothing."""
    return (
        _("This no longer exists. It may have been deleted on another page.")
        if isinstance(reason, NotFoundError)
        else say(reason)
    )


def refuse_with_toast(_action: Action, error: StateError) -> Answer:
    return Answer(page_state.report_problem(say_refusal(error)))


@dataclass(frozen=True, slots=True)
class ActionList:
    """The actions of a list: their handlers, and how the list reports an error."""

    list_id: str
    handlers: Handlers
    refuse: Refusal = refuse_with_toast
    # This store keeps the list's window, if it has one.
    window_id: str | None = None


async def run_action(services: Services, actions: ActionList, action: Action) -> Answer:
    """Run the handler of an action. The list reports a `StateError` in its own way. Raises `MalformedRequestError`."""
    handler = actions.handlers.get(action.kind)
    if handler is None:
        raise MalformedRequestError("type")
    try:
        return await handler(services, action)
    except StateError as error:
        return actions.refuse(action, error)
