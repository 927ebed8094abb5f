"""The dispatcher of the commands, and the command that shows time travel in a terminal."""

import sys
from collections.abc import Callable
from types import MappingProxyType

from application.commands import people, transfer, upkeep
from application.commands.arguments import Arguments
from application.commands.output import EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED, print_line, print_refusal, print_text
from application.composition.factory import build_models
from application.settings import Settings, SettingsError
from checkpoints import StateError


def run_demonstration(arguments: Arguments, settings: Settings) -> int:
    """Show time travel in the terminal."""
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


_COMMANDS: MappingProxyType[str, Callable[[Arguments, Settings], int]] = MappingProxyType(
    {
        "audit": upkeep.print_audit_log,
        "backup": upkeep.back_up,
        "demo": run_demonstration,
        "erase": upkeep.erase,
        "export": transfer.export_threads,
        "import": transfer.import_threads,
        "invite": people.print_invitation,
        "readmit": people.readmit_person,
        "reindex": upkeep.reindex,
        "usage": upkeep.print_usage,
        "verify": upkeep.verify,
    }
)


def run_command(arguments: Arguments, settings: Settings) -> int:
    """Run a command and return its exit code. A refusal is a sentence on the error output."""
    try:
        return _COMMANDS[arguments.command](arguments, settings)
    except (StateError, SettingsError) as error:
        return print_refusal(str(error))
    except OSError as error:
        return print_refusal(f"{error.filename or 'The output'}: {error.strerror}.")
    except KeyboardInterrupt:
        print_line("Interrupted.", sys.stderr)
        return EXIT_INTERRUPTED
