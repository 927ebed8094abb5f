"""The dispatcher of the commands, and the command that shows time travel in a terminal."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType

from application.commands import transfer, upkeep
from application.commands.arguments import Arguments
from application.commands.output import EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED, print_line, print_refusal, print_text
from application.composition.factory import build_models
from application.extension import Extension, build_each
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
        "reindex": upkeep.reindex,
        "usage": upkeep.print_usage,
        "verify": upkeep.verify,
    }
)


def _import_threads(extensions: Sequence[Extension], arguments: Arguments, settings: Settings) -> int:
    graphs = build_each((each.list_graph_names for each in extensions), settings)
    return transfer.import_threads(arguments, settings, [name for names in graphs for name in names])


def run_command(arguments: Arguments, settings: Settings, extensions: Sequence[Extension] = ()) -> int:
    """Run a command, also of an extension, and return its exit code. A refusal is a sentence on the error output."""
    commands = {command.name: command.run for each in extensions for command in each.commands}
    commands |= {"import": partial(_import_threads, extensions), **_COMMANDS}
    try:
        return commands[arguments.command](arguments, settings)
    except (StateError, SettingsError) as error:
        return print_refusal(str(error))
    except OSError as error:
        return print_refusal(f"{error.filename or 'The output'}: {error.strerror}.")
    except KeyboardInterrupt:
        print_line("Interrupted.", sys.stderr)
        return EXIT_INTERRUPTED
