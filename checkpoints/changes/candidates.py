"""Candidates: several models answer one question at once, each on a branch that begins with the question."""

from collections import Counter
from collections.abc import Sequence

from ..operation_detail import OperationDetail
from ..run import Candidate, RunState
from ..storage import candidate_rows
from ..storage.run_rows import NO_DRAFT
from .transaction import ChangeBody, Transaction


def add_candidates(append: ChangeBody, run_id: str, models: Sequence[str]) -> ChangeBody:
    """Return the change that appends a question, and adds a branch and a row for the answer of each model.

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
    """Return the names of the branches: the model's, with a number where it answers more than once."""
    seen: Counter[str] = Counter()
    names = []
    for model in models:
        seen[model] += 1
        names.append(model if seen[model] == 1 else f"{model} · {seen[model]}")
    return names


def switch_to_candidate(transaction: Transaction, candidate: Candidate) -> str | None:
    """Make the branch of a candidate the current one, and return its head."""
    transaction.detail = OperationDetail(subject="branch", name=candidate.model)
    transaction.switch_to(candidate.branch_id)
    return candidate.head_id
