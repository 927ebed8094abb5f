"""The command that shows time travel in a terminal."""

from commands.arguments import Arguments
from commands.output import EXIT_OK, EXIT_REFUSED, print_text
from config import Settings
from startup.factory import build_models


def run_demonstration(arguments: Arguments, settings: Settings) -> int:
    from agent.terminal_demo import DEMONSTRATIONS  # noqa: PLC0415  (the agent, which no other command needs)
    from agent.tracing.environment import switch_off_library_tracing  # noqa: PLC0415

    models = build_models(settings)
    switch_off_library_tracing()
    try:
        return EXIT_OK if DEMONSTRATIONS[arguments.which](models, _prompt_line, print_text) else EXIT_REFUSED
    except KeyboardInterrupt:
        return EXIT_OK


def _prompt_line() -> str | None:
    """Return a typed line; None at the end of the input."""
    try:
        return input("you: ")
    except EOFError:
        return None
