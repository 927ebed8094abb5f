"""What a conversation without messages shows: a greeting, and suggestions for the first message."""

from words import N_, _

SUGGESTIONS = (
    N_("What can I do here?"),
    N_("What is the weather like today?"),
    N_("What is 12 * (3 + 4)?"),
    N_("Show me a piece of Python"),
)
_GREETING = N_("Good to see you. Where shall we start?")
_MISSING = N_("This conversation is not here.")
_READER = N_("Good to see you.")
_ABOUT = N_(
    "Here you can travel in time: go back to any point of a conversation, try another way, and keep both. "
    "You can undo every step."
)
_ABOUT_MISSING = N_("It may have been erased, or the address is not complete. You can begin a new conversation here.")
_ABOUT_READING = N_(
    "You can read, search, compare and export the conversations that others have let you into. "
    "They are in the list of conversations."
)


def list_suggestions(graph: str) -> list[str]:
    """Return suggestions for the first message; none for a user graph, which may do something else."""
    return [] if graph else [_(each) for each in SUGGESTIONS]


def describe_greeting(*, is_missing: bool, is_read_only: bool) -> list[str]:
    """Return a heading, and the text below it."""
    heading = _MISSING if is_missing else _READER if is_read_only else _GREETING
    return [_(heading), _(_ABOUT_READING if is_read_only else _ABOUT_MISSING if is_missing else _ABOUT)]
