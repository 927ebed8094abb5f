"""Candidates: several models answer a question at once, each on a branch that begins with the question."""

from collections import Counter
from collections.abc import Sequence

import sqlalchemy as sa

from ..rows import candidate_rows, message_rows, operation_rows, run_rows, thread_rows
from ..rows.run_rows import NO_DRAFT
from ..storage import schema
from ..values.errors import NothingToRetryError
from ..values.model import Node, Thread
from ..values.operation import OperationKind
from ..values.operation_detail import OperationDetail
from ..values.run import Candidate, CandidateKey, Run, RunState
from .transaction import ChangeBody, Transaction


def add_candidates(append: ChangeBody, run_id: str, models: Sequence[str]) -> ChangeBody:
    """Build the change that appends a question, with a branch and a row for each model's answer.

    The first model answers on the current branch.
    """

    def append_and_add(transaction: Transaction) -> str | None:
        question_id = append(transaction)
        others = transaction.add_branches([(name, transaction.head) for name in _name_branches(models)[1:]])
        branch_ids = [transaction.thread.branch_id, *(branch.id for branch in others)]
        made = [
            Candidate(run_id, number, model, branch_id, RunState.RUNNING, NO_DRAFT)
            for number, (model, branch_id) in enumerate(zip(models, branch_ids, strict=True), 1)
        ]
        candidate_rows.insert_candidates(transaction.connection, transaction.thread.id, made)
        return question_id

    return append_and_add


def _name_branches(models: Sequence[str]) -> list[str]:
    """Name the branches after the models, without provider. A repeated model gets a number.

    Models whose names would be equal keep their provider.
    """
    alike = Counter(_drop_provider(model) for model in set(models))
    seen: Counter[str] = Counter()
    names = []
    for model in models:
        seen[model] += 1
        name = _drop_provider(model) if alike[_drop_provider(model)] == 1 else model
        names.append(name if seen[model] == 1 else f"{name} · {seen[model]}")
    return names


def _drop_provider(model: str) -> str:
    return model.partition(":")[2] or model


def switch_to_candidate(transaction: Transaction, candidate: Candidate) -> str | None:
    """Make a candidate's branch current, and return its head."""
    transaction.detail = _name_in_log(transaction, candidate)
    transaction.switch_to(candidate.branch_id)
    return candidate.head_id


def load_candidate(connection: sa.Connection, thread_id: str, key: CandidateKey) -> tuple[Run, Candidate]:
    """Return a candidate of a thread with its run. Raises `NothingToRetryError` if there is none."""
    run = run_rows.select_run(connection, key.run_id)
    found = [each for each in candidate_rows.select_candidates(connection, key.run_id) if each.key == key]
    if run is None or run.thread_id != thread_id or not found:
        raise NothingToRetryError
    return run, found[0]


def find_asked_question(connection: sa.Connection, thread: Thread, candidate: Candidate) -> Node:
    """Return the question of an incomplete candidate, if the thread is still at the answers to it.

    Raises `NothingToRetryError`.
    """
    head = message_rows.select_message(connection, thread.head_id, thread.id) if thread.head_id else None
    if candidate.state is RunState.DONE or head is None or head.run_id != candidate.run_id:
        raise NothingToRetryError
    table = schema.operation.c
    own = (table.grouped == candidate.run_id, table.kind == OperationKind.APPEND, table.actor == "user")
    begun = operation_rows.select_operations(connection, thread.id, *own, limit=1, abridged=True)
    question = thread_rows.select_node(connection, begun[0].result, thread.id) if begun else None
    if question is None:
        raise NothingToRetryError
    return question


def begin_again(transaction: Transaction, candidate: Candidate, question: Node) -> None:
    """Move a candidate's branch back to the question, and reopen the candidate."""
    transaction.detail = _name_in_log(transaction, candidate)
    transaction.move_head(question)
    candidate_rows.reopen_candidate(transaction.connection, candidate.key)


def _name_in_log(transaction: Transaction, candidate: Candidate) -> OperationDetail:
    """Describe a candidate's branch for the log, by its current name, like every other branch."""
    branch = thread_rows.select_branch(transaction.connection, candidate.branch_id, transaction.thread.id)
    return OperationDetail(subject="branch", name=branch.name)
