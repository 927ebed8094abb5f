"""Whether the acting person may write in a conversation, as the page says before they try."""

from checkpoints import Store
from checkpoints.people.members import Members
from checkpoints.values.model import ThreadRole
from components.people import READER, get_acting_role
from words import _


def describe_read_only(store: Store, thread_id: str | None) -> str | None:
    """Return why the person cannot write in a conversation, or begin a new conversation; None if they can."""
    if thread_id is None:
        return _("You can read conversations here, not write in them.") if get_acting_role() == READER else None
    is_reader = store.database.separates_owners and Members(store).find_role(thread_id) is ThreadRole.READER
    if is_reader or get_acting_role() == READER:
        return _("You can read this conversation, not write in it.")
    return None
