"""The dispatcher of the commands."""

import sys
from collections.abc import Callable
from types import MappingProxyType

from checkpoints import StateError
from commands import people, transfer, upkeep
from commands.arguments import Arguments
from commands.demonstration import run_demonstration
from commands.output import EXIT_INTERRUPTED, print_line, print_refusal
from config import Settings, SettingsError

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
