"""Repeated requests. A request's id makes a repetition harmless, and refuses another text under the same id."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from ..rows import message_rows, operation_rows, run_rows
from ..values import serde
from ..values.errors import ConflictError, RequestReusedError
from ..values.model import NewMessage
from ..values.operation import Caller, Operation, OperationKind
from ..values.run import Run

# A repeated request may choose another kind of the same set, because the head has moved meanwhile.
_RELATED_KINDS = (
    frozenset({OperationKind.APPEND, OperationKind.EDIT, OperationKind.RETRY, OperationKind.REPLACE}),
    frozenset({OperationKind.UNDO, OperationKind.REDO}),
)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def find_repeated(
    connection: sa.Connection, thread_id: str, caller: Caller, kind: OperationKind, sent: NewMessage | None
) -> Operation | None:
    """Return the operation of the same request, or None for a new request.

    Raises `RequestReusedError` for another text under its id, and for another kind of change.
    """
    done = operation_rows.find_request(connection, thread_id, caller.request_id) if caller.request_id else None
    if done is not None and not any(kinds.issuperset((done.kind, kind)) for kinds in ({kind}, *_RELATED_KINDS)):
        raise RequestReusedError(thread_id)
    check_repeated_request(connection, done, sent)
    return done


def choose_thread_id(caller: Caller) -> str | None:
    """Return the id of a conversation begun by this request, or None to generate an id."""
    request_id = caller.request_id or ""
    return request_id if _UUID.fullmatch(request_id) else None


def check_repeated_request(connection: sa.Connection, done: Operation | None, sent: NewMessage | None) -> None:
    """Refuse a repeated request with another text. Erased texts are not compared."""
    if done is None or not done.result or sent is None:
        return
    stored = message_rows.find_content(connection, done.result)
    if stored is not None and stored != serde.to_canonical(sent.body["data"].get("content")):
        raise RequestReusedError(done.thread_id)


def find_begun_run(connection: sa.Connection, thread_id: str | None, run_id: str, message: NewMessage | None) -> Run | None:
    """Return the run begun by the same request.

    Raises `RequestReusedError` for another text under its id, and for another change of the thread.
    """
    if thread_id is not None and not operation_rows.is_known_request(connection, thread_id, run_id):
        return None
    begun = run_rows.select_run(connection, run_id)
    if begun is None:
        if thread_id is not None and operation_rows.find_request(connection, thread_id, run_id) is not None:
            raise RequestReusedError(thread_id)
        return None
    if thread_id not in (None, begun.thread_id):
        # The request belongs to another caller, and this caller may not see it.
        raise ConflictError(begun.thread_id, 0, 0)
    check_repeated_request(connection, operation_rows.find_request(connection, begun.thread_id, run_id), message)
    return begun


@contextmanager
def refuse_taken_ids(request_id: str) -> Iterator[None]:
    """Raise `RequestReusedError` if a new row's id was already chosen by another person's request."""
    try:
        yield
    except sa.exc.IntegrityError as error:
        raise RequestReusedError(request_id) from error
