"""The tree of a conversation as plain JSON for History. The page lays it out: after a turn, only a head has moved."""

from collections.abc import Sequence
from typing import Any, Final

from checkpoints import Branch, Checkpoint, Message, OperationKind
from checkpoints.tree_reader import ConversationTree, Fork, Questions
from checkpoints.values.limits import MAX_LABEL_CHARS
from checkpoints.values.model import LeftBehind, Node
from checkpoints.values.operation import Move
from checkpoints.values.operation_detail import OperationDetail
from checkpoints.values.text import shorten_line
from components.views import list_rows
from components.views.figures import count_messages, count_tokens, format_number
from components.views.notes import read_note
from components.views.operations import name_restored_place
from words import _

_MOVE_KINDS: Final = {OperationKind.GOTO: "goto", OperationKind.REWIND: "rewind", OperationKind.COMPACT: "summary"}


def describe_tree(tree: ConversationTree, thread_id: str) -> dict[str, Any]:
    """Describe the forks, the moves, and the checkpoints outside of the current branch."""
    left = tree.left_behind
    return {
        "segments": [describe_segment(tree.questions, segment, fork) for segment, fork in tree.forks.items()],
        "elsewhere": _describe_checkpoints(tree.elsewhere, thread_id),
        "moves": [_describe_move(each) for each in tree.moves],
        "alternatives": [{"id": node.id, **describe_place(node)} for node in tree.alternatives],
        "removed": left and _describe_left_behind(left, thread_id),
    }


def _describe_checkpoints(checkpoints: Sequence[Checkpoint], thread_id: str) -> list[dict[str, Any]]:
    return [list_rows.describe_checkpoint(each, thread_id) for each in checkpoints]


def _describe_left_behind(left: LeftBehind, thread_id: str) -> dict[str, Any]:
    checkpoints = _describe_checkpoints(left.checkpoints, thread_id)
    return {**describe_place(left.node), "count": left.messages, "checkpoints": checkpoints, "undoable": left.is_newest}


def describe_place(node: Node | None) -> dict[str, Any]:
    """Describe the place of a message: its segment, the number of messages up to it, and its id. None is the beginning."""
    if node is None:
        return {"segment": None, "messages": 0, "message": None}
    return {"segment": node.segment, "messages": node.depth + 1, "message": node.id}


def describe_segment(questions: Questions, segment: int, fork: Fork | None) -> dict[str, Any]:
    """Describe a segment of the outline, and where it forks from its parent, with the first words of the questions there."""
    described = {"id": segment, "words": _read_words(questions.first.get(segment))}
    if fork is None:
        return {**described, "parent": None, "from": 0, "message": None, "fork_words": "", "other_words": ""}
    place = fork.segment, fork.length - 1
    words = {
        "fork_words": _read_words(questions.turns.get(place)),
        "other_words": _read_words(questions.following.get(place)),
    }
    return {**described, "parent": fork.segment, "from": fork.length, "message": fork.message_id, **words}


def describe_branch(tree: ConversationTree, branch: Branch, shared: int, current: str) -> dict[str, Any]:
    """Describe a branch, with the words of the page for a name that a restore gave, and the first words after its end.

    `shared` counts its messages on the current branch.
    """
    head, restore = tree.heads[branch.id], tree.restores.get(branch.id)
    return {
        "id": branch.id,
        "name": branch.name,
        "current": branch.id == current,
        "shared": shared,
        **describe_place(head),
        "given": _("Before restoring {place}", place=name_restored_place(restore)) if restore else "",
        "next_words": _read_words(tree.questions.following.get(head.place)) if head else "",
    }


def _read_words(message: Message | None) -> str:
    """Return the first words of a message; nothing of a note, which a person did not write, and of a damaged message."""
    if message is None or message.damaged or read_note(message):
        return ""
    return shorten_line(str(message.langchain.text), MAX_LABEL_CHARS)


def _describe_move(move: Move) -> dict[str, Any]:
    operation, detail = move.operation, move.operation.detail
    return {
        "id": str(operation.version),
        "kind": _MOVE_KINDS[operation.kind],
        **describe_place(move.node),
        "replaced": describe_place(move.replaced) if move.replaced else None,
        "after": detail.tokens_after,
        "time": operation.created_at.isoformat(),
        **_say_move(_MOVE_KINDS[operation.kind], detail),
    }


def _say_move(kind: str, detail: OperationDetail) -> dict[str, str]:
    """Put a move into words, as rows and cards show it: what it is, what left with it, and the tokens that it saved."""
    messages, before, after = count_messages(detail.messages), detail.tokens_before, detail.tokens_after
    said = {"left": f"−{messages}" if detail.messages else "", "saved": "", "saved_tokens": "", "figures": ""}
    if before is not None and after is not None:
        sizes = {"before": format_number(before), "after": format_number(after)}
        said["figures"] = _("{messages}: {before} → {after} tokens", messages=messages, **sizes)
        sign = "−" if before > after else "+"
        if before != after:
            said["saved"] = f"{sign}{format_number(abs(before - after))}"
            said["saved_tokens"] = f"{sign}{count_tokens(abs(before - after))}"
    if kind != "summary":
        name = _("Agent went back") if kind == "goto" else _("Agent replaced an answer")
        return {**said, "name": name, "full_name": name}
    # A row has no room for the noun.
    name = _("Summary of {count}", count=format_number(detail.messages))
    return {**said, "left": "", "name": name, "full_name": _("Summary of {messages}", messages=messages)}
