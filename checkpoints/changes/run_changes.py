"""Changes made by a run in its thread: moves, replaced messages, summaries, branches and milestones."""

from collections.abc import Collection, Sequence

from ..rows import checkpoint_rows, message_rows, thread_rows
from ..values import serde
from ..values.answer_spec import make_spec_entry
from ..values.model import Checkpoint, Json, Message, MessageStatus, NewMessage, Node
from ..values.operation_detail import OperationDetail
from ..values.reasoning import NO_REASONING, Reasoning
from . import branches
from .append import make_append
from .transaction import Transaction


def move_and_append(
    transaction: Transaction, message: NewMessage, *, after: str | None, run_id: str, detail: OperationDetail
) -> str | None:
    """Move the head back to `after`, and write a message there."""
    transaction.detail = detail
    return make_append([message], after, "", run_id)(transaction)


def replace_in_run(
    transaction: Transaction, message_id: str, new: NewMessage, dropped_ids: Collection[str], *, detail: OperationDetail
) -> str:
    """Replace a message before the run continues. The later messages stay, except the dropped messages."""
    made = branches.replace_message(transaction, message_id, new, dropped_ids, run_continues=True)
    transaction.detail = detail
    return made


def put_summary(
    transaction: Transaction, messages: Sequence[NewMessage], *, after: str | None, detail: OperationDetail
) -> str:
    """Write a summary and copies after `after`, and move the head to them. Checkpoints of the old path stay listed."""
    transaction.detail = detail
    parent = thread_rows.select_node(transaction.connection, after, transaction.thread.id)
    nodes = transaction.add_messages(parent, messages)
    transaction.detach_and_move(nodes[-1])
    return nodes[0].id


def add_branches(
    transaction: Transaction, first_messages: Sequence[tuple[str, NewMessage]], *, after: str | None, run_id: str
) -> list[tuple[str, Message]]:
    """Add branches after a message, each with a name and a first message. Return their ids with these messages."""
    parent = thread_rows.select_node(transaction.connection, after, transaction.thread.id)
    made: list[tuple[str, Message]] = []
    for name, message in first_messages:
        first = transaction.add_messages(parent, [message], run_id=run_id)[0]
        stored = message_rows.select_message(transaction.connection, first.id, transaction.thread.id)
        made.append((transaction.add_branch(name, first).id, stored))
    transaction.detail = OperationDetail(subject="branches", branches=len(first_messages))
    return made


def fork_and_append(transaction: Transaction, message: NewMessage, *, after: str | None, name: str, run_id: str) -> str:
    """Add a branch after a message, make it current, and write a message there. Return the message's id."""
    parent = thread_rows.select_node(transaction.connection, after, transaction.thread.id)
    node = transaction.add_messages(parent, [message], run_id=run_id)[0]
    branch = transaction.add_branch(name, node)
    transaction.detail = OperationDetail(subject="branch", name=branch.name)
    transaction.switch_to(branch.id)
    return node.id


def can_save_milestone(transaction: Transaction, node: Node) -> bool:
    """Return whether the message is on the path and never had a checkpoint."""
    connection, thread_id = transaction.connection, transaction.thread.id
    is_on_path = node in transaction.trace_current_path()
    return is_on_path and not checkpoint_rows.had_checkpoint(connection, thread_id, node.id)


def add_milestone(transaction: Transaction, node: Node, name: str, description: str) -> str:
    """Bookmark a message, as the judge."""
    now, count = thread_rows.to_time(transaction.now), node.depth + 1
    # The agent finds places by name, so a name chosen by a person must keep its meaning.
    is_taken = checkpoint_rows.is_name_used(transaction.connection, transaction.thread.id, name)
    own_name = f"{name} · {count}" if is_taken else name
    saved = transaction.add_checkpoint(Checkpoint("", own_name, now, count, description, created_by="judge", node=node))
    transaction.detail = OperationDetail(name=saved.name)
    return saved.id


def make_partial_messages(text: str, reasoning: Reasoning = NO_REASONING, model: str = "") -> list[NewMessage]:
    """Return the message of an interrupted answer of a model, or none if nothing had arrived."""
    data: Json = {"content": serde.sanitize_text(text)}
    if kwargs := reasoning.to_kwargs():
        data["additional_kwargs"] = kwargs
    if model:
        data["response_metadata"] = make_spec_entry(model)
    body = {"type": "ai", "data": data}
    return [NewMessage(body, status=MessageStatus.PARTIAL)] if text or reasoning.text.strip() else []
