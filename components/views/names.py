"""Names of people in a conversation that several work on."""

from dataclasses import dataclass

from checkpoints import EVERYBODY, NOBODY, Operation, get_acting_owner
from components.views.audit_sentences import describe_person
from words import _


def name_other(person: str | None) -> str:
    """Return the name of another person than who reads; empty for oneself, and where people are not told apart."""
    own = get_acting_owner()
    return "" if not person or own in (NOBODY, EVERYBODY, person) else describe_person(person)


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """The words for the people who asked, in a document for others. Nobody but its own person may be named."""

    person: str  # whose document it is
    own: str  # for their questions
    unknown: str  # for questions of nobody knows whom, as those of a file or from before people were told apart

    def name_asker(self, person: str | None) -> str:
        if not person:
            return self.unknown
        return self.own if person == self.person else _("Another person")


def add_name(text: str | None, operation: Operation | None) -> str | None:
    """Add to words for a change whose it is, where somebody else made it."""
    name = name_other(operation.person) if operation else ""
    return _("{change}, by {name}", change=text, name=name) if text and name else text
