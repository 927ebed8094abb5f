"""The errors of the package, as a tree of classes.

StateError
├── NotFoundError (also a KeyError)
│   ├── ThreadNotFoundError
│   ├── CheckpointNotFoundError
│   ├── MessageNotFoundError
│   ├── BranchNotFoundError
│   ├── PromptNotFoundError
│   ├── ShareNotFoundError
│   └── TagNotFoundError
├── ConflictError            another caller changed the thread first; nothing was done
│   ├── RunActiveError       an answer is being written; nothing was done
│   ├── RequestReusedError   the request was already used for another change; nothing was done
│   ├── RunTakenError        another process has taken the run over, or ended it; nothing was done
│   ├── StaleWriterError     a graph continued from a state that another run has left; nothing was done
│   └── UnseenMessagesError  a graph continued without the messages after its state; nothing was done
├── NothingToSaveError       a checkpoint of an empty conversation was requested
├── NothingToUndoError
├── CurrentBranchError       the current branch cannot be deleted
├── TooManyAlternativesError a message has as many alternatives as can be imported
├── TooManyValuesError       a message or a state has more values than can be imported
├── DamagedOperationError    the record of a change cannot be read, so the change cannot be undone
├── DamagedMessageError      a stored message does not fit its hash: it is not shown, and nothing is built on it
├── DamagedStateError        a stored state of a graph, or a value of it, does not fit its hash
├── InvalidPromptError       a prompt cannot be saved
├── InvalidShareError        a link cannot be made
├── ReadOnlyError            a person with read-only access tried to change something
│   └── OwnerOnlyError       a member tried a change reserved to the owner
├── InvalidMemberError       a person cannot be let into a conversation
├── InvalidTagError          a tag has no name, or there are too many tags
├── InvalidFileError         a file cannot be attached
├── DamagedFileError         an attached file is missing, or does not fit its hash
├── ExportTooLargeError      an export would be too large
├── BackupError              a backup was not made
├── InvalidDocumentError     an import was refused; the text names the field
├── InvalidRedactionError    a pattern cannot be searched for
├── ContendedError           other changes won every attempt; nothing was done
├── TakesTooLongError        a read ran out of time
└── StoreUnavailableError    the database cannot be reached, is full, locked or read-only
    ├── StoreBusyError       another change of this process takes too long; nothing was done
    └── StoreInUseError      another process has this database open

The text of each is a sentence for the user.
"""

from .sentence import sentence

_NOTHING_TEXTS = {
    "undo": sentence("There is nothing to undo."),
    "redo": sentence("There is nothing to redo."),
}


class StateError(Exception):
    """The base class. It is never raised itself."""


class NotFoundError(StateError, KeyError):
    """The thing does not exist, or belongs to another owner."""

    template = sentence("{identifier!r} does not exist.")

    def __init__(self, identifier: str) -> None:
        super().__init__(identifier)
        self.identifier = identifier

    def __str__(self) -> str:
        return sentence(self.template, identifier=self.identifier)


class ThreadNotFoundError(NotFoundError):
    template = sentence("There is no conversation {identifier!r}.")


class CheckpointNotFoundError(NotFoundError):
    template = sentence("There is no checkpoint {identifier!r}.")


class MessageNotFoundError(NotFoundError):
    template = sentence("There is no message {identifier!r}.")


class BranchNotFoundError(NotFoundError):
    template = sentence("There is no branch {identifier!r}.")


class ConflictError(StateError):
    """Another caller changed the thread. This caller saw version `expected`; the current version is `actual`."""

    def __init__(self, thread_id: str, expected: int, actual: int, person: str = "") -> None:
        """`person` names whoever changed it, if it was another person."""
        super().__init__(
            sentence("{name} changed this conversation in the meantime. Nothing was done; please look again.", name=person)
            if person
            else sentence("This conversation was changed elsewhere in the meantime. Nothing was done; please look again.")
        )
        self.thread_id = thread_id
        self.expected = expected
        self.actual = actual


class RunActiveError(ConflictError):
    """A run has locked the thread."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        StateError.__init__(self, sentence("An answer is being written in this conversation. Stop it or wait for it first."))
        self.thread_id = thread_id
        self.run_id = run_id


class RunTakenError(ConflictError):
    """Another process has taken the run over, or has ended it."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        StateError.__init__(self, sentence("Another server goes on with this answer."))
        self.thread_id = thread_id
        self.run_id = run_id


class RequestReusedError(ConflictError):
    """An earlier call with this request id carried another text or made another change."""

    def __init__(self, thread_id: str) -> None:
        StateError.__init__(
            self, sentence("This request was already used for another change. Nothing was done; please send it again.")
        )
        self.thread_id = thread_id


class StaleWriterError(ConflictError):
    """A graph's run continues from a state the conversation has left."""

    def __init__(self, thread_id: str) -> None:
        StateError.__init__(self, sentence("Another run or a restore has changed this conversation. Nothing was written."))
        self.thread_id = thread_id


class UnseenMessagesError(ConflictError):
    """Messages follow the graph's state, and its run would take them off the conversation's path."""

    def __init__(self, thread_id: str) -> None:
        StateError.__init__(
            self,
            sentence(
                "Messages that this graph has not seen were written into its conversation. "
                "Hand them over with the next input, or undo them. Nothing was written."
            ),
        )
        self.thread_id = thread_id


class NothingToSaveError(StateError, ValueError):
    def __init__(self) -> None:
        super().__init__(sentence("There is nothing to save yet: start a conversation first."))


class NothingToUndoError(StateError):
    def __init__(self, verb: str) -> None:
        super().__init__(_NOTHING_TEXTS[verb])


class CurrentBranchError(StateError):
    def __init__(self) -> None:
        super().__init__(
            sentence("The branch that the conversation stands on cannot be deleted. Switch to another one first.")
        )


class TooManyAlternativesError(StateError, ValueError):
    def __init__(self, limit: int) -> None:
        super().__init__(
            sentence("There are {limit} alternatives at this place already, the most that there may be.", limit=limit)
        )


class TooManyValuesError(StateError, ValueError):
    def __init__(self, noun: str, limit: int) -> None:
        super().__init__(sentence("A {noun} holds more than {limit:,} values, which is too many.", noun=noun, limit=limit))


class DamagedMessageError(StateError):
    """A message's bytes do not fit its hash. `depth` is its position on its path, counted from 0."""

    def __init__(self, thread_id: str, message_id: str, depth: int) -> None:
        super().__init__(
            sentence(
                "Message {depth:,} of this conversation is damaged: its content does not fit its hash.", depth=depth + 1
            )
        )
        self.thread_id = thread_id
        self.message_id = message_id
        self.depth = depth


class DamagedStateError(StateError):
    """A graph's state cannot be read. `name` is its LangGraph id, or a value it names."""

    def __init__(self, thread_id: str, name: str) -> None:
        super().__init__(
            sentence("A state of this conversation's graph is damaged: {name} does not fit its hash.", name=name)
        )
        self.thread_id = thread_id
        self.name = name


class DamagedOperationError(StateError):
    """The record of a change cannot be read or names missing rows. `version` is the thread version made by the change."""

    def __init__(self, thread_id: str, version: int) -> None:
        super().__init__(
            sentence("Change {version:,} of this conversation cannot be taken back: its record is damaged.", version=version)
        )
        self.thread_id = thread_id
        self.version = version


class NothingRemovedError(StateError):
    def __init__(self) -> None:
        super().__init__(sentence("The removed messages are not shown here any more. Undo brings them back."))


class NothingToRetryError(StateError):
    def __init__(self) -> None:
        super().__init__(
            sentence("This answer cannot be tried again: the conversation has gone on since, or it has an answer.")
        )


class PersonErasedError(StateError):
    """Everything of the acting person is being erased, or was. Nothing new begins for them."""

    def __init__(self) -> None:
        super().__init__(sentence("Everything of yours was erased, or is being erased. Nothing was changed."))


class ReadOnlyError(StateError):
    """A person with read-only access tried to change something."""

    def __init__(self) -> None:
        super().__init__(sentence("You have read-only access."))


class OwnerOnlyError(ReadOnlyError):
    """A member tried something reserved to the conversation's owner."""

    def __init__(self) -> None:
        StateError.__init__(self, sentence("Only the owner of this conversation can do this."))


class InvalidMemberError(StateError):
    """The person cannot be let into a conversation, or is not in it."""


class InvalidPromptError(StateError):
    """A prompt has no name or text, is too long, or exceeds the number of saved prompts."""


class InvalidInstructionsError(StateError):
    """A person's default instructions are too long."""


class InstructionsChangedError(StateError):
    """A person's default instructions are no longer as the caller saw them; nothing was done. They are now `text`."""

    def __init__(self, text: str) -> None:
        super().__init__(
            sentence(
                "These instructions were changed elsewhere in the meantime. "
                "Your version is still here; save again to replace them."
            )
        )
        self.text = text


class PromptNotFoundError(NotFoundError):
    template = sentence("There is no prompt {identifier!r}.")


class InvalidShareError(StateError):
    """A link has no end in time, or exceeds the number of links."""


class ShareNotFoundError(NotFoundError):
    template = sentence("There is no link {identifier!r}.")


class InvalidTagError(StateError):
    """A tag has no name or a name already in use, or exceeds the number of tags."""


class TagNotFoundError(NotFoundError):
    template = sentence("There is no tag {identifier!r}.")


class InvalidFileError(StateError, ValueError):
    """A file cannot be attached; the text says which, and why."""


class DamagedFileError(StateError):
    """An attached file is missing, or its bytes do not fit its hash."""

    def __init__(self, name: str) -> None:
        super().__init__(sentence("The attached file {name} is damaged: its content does not fit its hash.", name=name))


class ExportTooLargeError(StateError):
    """The export would be too large, with its files or with words redacted almost everywhere."""


class BackupError(StateError):
    """A backup was not made; the text says why."""


class InvalidRedactionError(StateError, ValueError):
    """A pattern to redact cannot be searched for."""


class InvalidDocumentError(StateError, ValueError):
    """An import was refused. `field` is the field's path in the document, and the subject of the reason."""

    def __init__(self, reason: str, field: str = "") -> None:
        super().__init__(sentence("{field} {reason}", field=field, reason=reason) if field else reason)
        self.field = field


class ContendedError(StateError):
    """The database gave up this change for another. The driver's error is the `__cause__`."""

    def __init__(self) -> None:
        super().__init__(sentence("Somebody else changed this at the same time. Nothing was done; please try again."))


class TakesTooLongError(StateError):
    def __init__(self) -> None:
        super().__init__(sentence("Reading this took too long and was given up. Nothing was changed."))


class UnfitMessageError(StateError):
    """A graph wrote a message the conversation cannot hold."""

    def __init__(self, reason: str = sentence("cannot be stored as one")) -> None:
        text = sentence("The graph wrote a message that {reason}, so the conversation cannot show it.", reason=reason)
        super().__init__(text)


class StoreUnavailableError(StateError):
    """The database cannot be used. The driver's error is the `__cause__`."""


class StoreBusyError(StoreUnavailableError):
    """Another change of this process, such as an import, holds the database for too long. The database itself works."""

    def __init__(self) -> None:
        super().__init__(
            sentence("Waymark is still saving something else, such as an import. Nothing was done; please try again.")
        )


class StoreInUseError(StoreUnavailableError):
    def __init__(self, name: str, setting: str = "DATA_DIR") -> None:
        super().__init__(
            sentence(
                "{name} is in use by another Waymark process. Stop that one, or choose another {setting}.",
                name=name,
                setting=setting,
            )
        )
