"""Names of people in a conversation with several people."""

from dataclasses import dataclass

from checkpoints import EVERYBODY, NOBODY, Operation, get_acting_owner
from components.views.audit_sentences import describe_person
from words import _


def name_other(person: str | None) -> str:
    """Return another person's name; empty for the reader, and where people are not told apart."""
    own = get_acting_owner()
    return "" if not person or own in (NOBODY, EVERYBODY, person) else describe_person(person)


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """The words for the people who asked, in a document for others. It names nobody but its own person."""

    person: str
    # This word stands for the person's own questions.
    own: str
    # This word stands for questions by unknown people, from a file or from before people were told apart.
    unknown: str

    def name_asker(self, person: str | None) -> str:
        if not person:
            return self.unknown
        return self.own if person == self.person else _("Another person")


def add_name(text: str | None, operation: Operation | None) -> str | None:
    """Add the name of the person who made the change, if it was somebody else."""
    name = name_other(operation.person) if operation else ""
    return _("{change}, by {name}", change=text, name=name) if text and name else text
