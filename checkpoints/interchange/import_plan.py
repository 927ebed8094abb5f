"""The plan of an import: all that it will write, decided before the first write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..values.model import Node
from ..values.operation_detail import OperationDetail
from .waymark import BranchPart, CheckpointPart


class NothingNewError(Exception):
    """A merge would change nothing: raised within the change, so that none is recorded. Only transfer catches it."""


@dataclass(frozen=True, slots=True)
class MessageChain:
    """New messages, each following the one before it. The ids are the document's."""

    parent_id: str | None  # followed by the first message
    message_ids: Sequence[str]
    depth: int  # of the first message
    segment: int | None  # the stored segment that the chain continues; None: it begins a segment


@dataclass(frozen=True, slots=True)
class NewBranch:
    document_id: str
    name: str
    head: str | None  # the document's id of a message
    state: str | None = None  # the document's id of a graph's state


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPlan:
    """The branches of a conversation after an import. A replacement renames the current one and deletes others."""

    stored_ids: Mapping[str, str]  # of the branches that are stored already, by id in the document
    new: Sequence[NewBranch]
    current_name: str | None = None
    deleted_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlan:
    new: Sequence[CheckpointPart]
    hidden_ids: Sequence[str] = ()  # of stored checkpoints
    rewritten: Sequence[CheckpointPart] = ()  # stored already, and to be as in the document
    relisted: Sequence[CheckpointPart] = ()  # stored already, and to be listed again


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan:
    """The writes of an import, in their order: messages, branches, the head, checkpoints."""

    stored: Mapping[str, Node]  # the messages that the conversation has already, by id in the document
    chains: Sequence[MessageChain]  # each follows a stored message, or a message of an earlier chain
    branches: BranchPlan
    checkpoints: CheckpointPlan
    shown: BranchPart | None  # the document's branch to whose head the head moves; None: it stays
    needs_new_ids: bool  # another conversation uses ids of the document
    taken_ids: frozenset[str]  # ids of messages that are in use, also by a damaged message
    detail: OperationDetail
