"""Sentences about operations: the banner about the last operation, and the labels of Undo and Redo.

Every sentence is made here, from an operation's kind and detail. Nothing reads a sentence back. The log is in change_log.py.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NotRequired, TypedDict

from checkpoints import LONG_SETTINGS, Operation, OperationDetail, OperationKind, Removal
from checkpoints.values.limits import MAX_TAGS
from checkpoints.values.place_name import PlaceName
from components.views.places import describe_place_name
from components.views.sentences import choose_sentences
from words import N_, _, ngettext

# A sentence names this many tags.
MAX_NAMED_TAGS = 5
_NAMED_SUBJECTS: Final = {
    "thread": N_("conversation {name}"),
    "branch": N_("branch {name}"),
    "checkpoint": N_("checkpoint {name}"),
}
_RENAMED_SUBJECTS: Final = {
    "branch": N_("branch {name} to {new_name}"),
    "checkpoint": N_("checkpoint {name} to {new_name}"),
}
_OTHER_SUBJECTS: Final = {"checkpoints": N_("checkpoints"), "message": N_("another alternative")}
_SETTING_LABELS: Final = {
    "instructions": N_("the instructions"),
    "model": N_("the model"),
    "time_travel": N_("time travel"),
    "temperature": N_("the temperature"),
    "top_p": N_("top P"),
    "max_tokens": N_("the longest answer"),
    "reasoning_effort": N_("the reasoning effort"),
    "extra_body": N_("the extra body"),
}


class Notice(TypedDict):
    """The banner about a thread's last change."""

    version: str
    text: str
    # The text of a restore already includes the place.
    place: NotRequired[str]
    # A restore removed messages that are on no branch.
    keepable: NotRequired[bool]


def describe_notice(operation: Operation | None) -> Notice | None:
    """Return the banner about the thread's last change, if it removed messages or chose another path."""
    if operation is None or operation.undone:
        return None
    sentences = choose_sentences(operation)
    if sentences.notice is None:
        return None
    version, detail = str(operation.version), operation.detail
    if sentences.unknown and is_unknown(operation):
        return {"version": version, "text": sentences.unknown}
    notice: Notice = {"version": version, "text": _fill_notice(operation, sentences.notice)}
    if operation.kind is OperationKind.RESTORE and detail.future_kept is not None:
        notice |= {"place": name_restored_place(detail), "keepable": detail.messages > 0 and not detail.future_kept}
    return notice


def _fill_notice(operation: Operation, notice: str) -> str:
    detail = operation.detail
    match operation.kind:
        case OperationKind.EDIT | OperationKind.RETRY:
            said = notice.format(describe_object(operation))
            parts = [said, _describe_removed_checkpoints(detail), describe_beginning(detail)]
        case OperationKind.COMPACT:
            parts = [
                notice.format(ngettext("{count:,} message", "{count:,} messages", detail.messages)),
                _describe_savings(detail),
            ]
        case OperationKind.RESTORE if detail.future_kept is not None:
            removal = _describe_restored_removal(detail)
            parts = [f"{notice.format(name_restored_place(detail))}. {removal[0].upper()}{removal[1:]}."]
        case OperationKind.IMPORT:
            parts = [notice.format(describe_object(operation)), describe_left_out_tags(detail.removed)]
        case _:
            parts = [notice.format(describe_object(operation))]
    return " · ".join(part for part in parts if part)


def describe_left_out_tags(names: Sequence[str]) -> str:
    """Name the tags that an import left out because of the limit; empty if there are none."""
    if not names:
        return ""
    quoted = ", ".join(_("“{name}”", name=name) for name in names[:MAX_NAMED_TAGS])
    more = ", …" if len(names) > MAX_NAMED_TAGS else ""
    return _("There are {limit} tags already. Left out: {names}.", limit=MAX_TAGS, names=quoted + more)


def describe_undo(operation: Operation | None) -> str | None:
    """Return words for an operation to undo or redo."""
    if operation is None:
        return None
    words = choose_sentences(operation).undo
    if "{}" not in words:
        return words
    if is_unknown(operation):
        return _("an earlier change")
    if operation.kind is OperationKind.COMPACT:
        return words.format(ngettext("{count:,} message", "{count:,} messages", operation.detail.messages))
    return words.format(describe_object(operation))


def describe_object(operation: Operation) -> str:
    return _DESCRIPTIONS.get(operation.kind, describe_subject)(operation.detail)


def describe_subject(detail: OperationDetail) -> str:
    """Return words for the subject of an operation, with its names."""
    subject = detail.subject or ""
    if detail.place is not None:
        return describe_place_name(PlaceName(detail.place, detail.name))
    if subject == "branches":
        return ngettext("{count:,} branch", "{count:,} branches", detail.branches)
    if detail.new_name and subject in _RENAMED_SUBJECTS:
        return _(_RENAMED_SUBJECTS[subject], name=detail.name, new_name=detail.new_name)
    if subject in _NAMED_SUBJECTS:
        return _(_NAMED_SUBJECTS[subject], name=detail.name).strip()
    return _(_OTHER_SUBJECTS[subject]) if subject in _OTHER_SUBJECTS else detail.name or _("something")


def _describe_deletion(detail: OperationDetail) -> str:
    if detail.subject == "branches":
        return ngettext("{count:,} other branch", "{count:,} other branches", detail.branches)
    return describe_subject(detail)


def _describe_restore(detail: OperationDetail) -> str:
    if detail.future_kept is None:
        # The oldest operations recorded only a name.
        return detail.name
    return f"{name_restored_place(detail)} · {_describe_restored_removal(detail)}"


def _describe_restored_removal(detail: OperationDetail) -> str:
    removal = describe_removal(Removal(detail.messages, detail.checkpoints))
    return (
        _("{removal} kept as a branch", removal=removal) if detail.future_kept else _("{removal} removed", removal=removal)
    )


def name_restored_place(detail: OperationDetail) -> str:
    if detail.subject != "message":
        return detail.name
    return _("the beginning") if detail.depth is None else _("message {number}", number=detail.depth + 1)


def describe_removal(removal: Removal) -> str:
    """Return the numbers of removed messages and checkpoints in words, and the agents whose work is among them."""
    numbers = _join_numbers(removal)
    if not removal.agents:
        return numbers
    agents = _(" and ").join(removal.agents)
    return _("{numbers}, including the work of {agents},", numbers=numbers, agents=agents)


def _join_numbers(removal: Removal) -> str:
    messages = ngettext("{count:,} message", "{count:,} messages", removal.messages)
    checkpoints = ngettext("{count:,} checkpoint", "{count:,} checkpoints", removal.checkpoints)
    if removal.messages and removal.checkpoints:
        return _("{messages} and {checkpoints}", messages=messages, checkpoints=checkpoints)
    return messages if removal.messages else checkpoints if removal.checkpoints else _("nothing")


def _describe_removed_checkpoints(detail: OperationDetail) -> str:
    if not detail.checkpoints:
        return ""
    return ngettext("{count:,} checkpoint removed", "{count:,} checkpoints removed", detail.checkpoints)


def describe_beginning(detail: OperationDetail) -> str:
    """Return words for a graph's turn that begins with older values than the message before it; otherwise empty."""
    return _("the graph begins with its values from before the unfinished turn") if detail.begins_earlier else ""


def _describe_move(detail: OperationDetail) -> str:
    where = _("an earlier message") if detail.depth is None else _("message {number}", number=detail.depth + 1)
    removed = ngettext("{count:,} message removed", "{count:,} messages removed", detail.messages)
    return " · ".join(filter(None, (where, removed, _describe_savings(detail))))


def _describe_summary(detail: OperationDetail) -> str:
    return " · ".join(
        filter(None, (ngettext("{count:,} message", "{count:,} messages", detail.messages), _describe_savings(detail)))
    )


def _describe_savings(detail: OperationDetail) -> str:
    """Return the estimated tokens before and after; empty if no estimate was recorded."""
    if detail.tokens_before is None or detail.tokens_after is None:
        return ""
    return _("about {before:,} tokens became {after:,}", before=detail.tokens_before, after=detail.tokens_after)


def describe_settings(values: Mapping[str, str]) -> str:
    """Return changed settings and their new values in words, in the order of the dialog."""
    changed = [key for key in _SETTING_LABELS if key in values] + [key for key in values if key not in _SETTING_LABELS]
    return _(" and ").join(_describe_setting(key, values[key]) for key in changed)


def _describe_setting(key: str, value: str) -> str:
    label = _(_SETTING_LABELS.get(key, key))
    return label if key in LONG_SETTINGS else _("{setting} to {value}", setting=label, value=value or _("the default"))


def describe_tagging(operation: Operation) -> str:
    return choose_sentences(operation).log.format(describe_object(operation))


def _describe_tags(detail: OperationDetail) -> str:
    if detail.added and detail.removed:
        return _("{added} and removed {removed}", added=_name_tags(detail.added), removed=_name_tags(detail.removed))
    return _name_tags(detail.added or detail.removed)


def _name_tags(names: Sequence[str]) -> str:
    if not names:
        return _("tags")
    return ngettext("the tag {names}", "the tags {names}", len(names), names=", ".join(names))


def describe_import(detail: OperationDetail) -> str:
    """Return the title of an imported file, and for a merge the numbers of added parts."""
    counts = (
        (detail.messages, ngettext("{count:,} message", "{count:,} messages", detail.messages)),
        (detail.branches, ngettext("{count:,} branch", "{count:,} branches", detail.branches)),
        (detail.checkpoints, ngettext("{count:,} checkpoint", "{count:,} checkpoints", detail.checkpoints)),
    )
    added = ", ".join(words for number, words in counts if number)
    return f"{detail.name} · {_('{numbers} added', numbers=added)}" if added else detail.name


_DESCRIPTIONS: Final[Mapping[OperationKind, Callable[[OperationDetail], str]]] = {
    OperationKind.EDIT: lambda detail: ngettext("{count:,} earlier message", "{count:,} earlier messages", detail.messages),
    OperationKind.SAVE: lambda detail: detail.name,
    OperationKind.RENAME: lambda detail: detail.new_name if detail.subject == "thread" else describe_subject(detail),
    OperationKind.FORK: lambda detail: detail.name if detail.subject == "thread" else describe_subject(detail),
    OperationKind.DELETE: _describe_deletion,
    OperationKind.RESTORE: _describe_restore,
    OperationKind.GOTO: _describe_move,
    OperationKind.REWIND: _describe_move,
    OperationKind.COMPACT: _describe_summary,
    OperationKind.REPLACE: lambda detail: ngettext("{count:,} later message", "{count:,} later messages", detail.kept or 0),
    OperationKind.TAG: _describe_tags,
    OperationKind.SETTINGS: lambda detail: describe_settings(detail.settings),
    OperationKind.IMPORT: describe_import,
}


def is_unknown(operation: Operation) -> bool:
    """Return whether no detail of the operation is known, because it was erased or is damaged."""
    return operation.detail == OperationDetail()
