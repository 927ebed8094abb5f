"""The command line: its commands, their arguments, and the help about them."""

import argparse
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from application.extension import Command

DEMONSTRATION_NAMES = ("compaction", "goto")
# The formats' file names have these endings.
ENDINGS = {"waymark": "json", "markdown": "md", "html": "html", "jsonl": "jsonl"}
Arguments = argparse.Namespace


def parse_arguments(arguments: Sequence[str], added: Iterable[Command] = ()) -> Arguments:
    """Parse the command line, with the commands of extensions. The default command is "serve". A mistake ends the process
    with code 2.
    """
    parser = argparse.ArgumentParser(
        prog="app.py",
        description="Waymark: conversations in which time can be moved through.",
        epilog="Settings are read from the environment and from .env, as for the server.",
    )
    commands = parser.add_subparsers(dest="command", metavar="command")
    serving = commands.add_parser("serve", help="serve the page (the default)")
    serving.add_argument("--web", action="store_true", help="leave the answers to `work`, at the same PostgreSQL")
    commands.add_parser("work", help="write the answers of other processes at the same PostgreSQL, and serve no page")
    _add_export_arguments(commands.add_parser("export", help="write a conversation, or all, as text; also while serving"))
    importing = commands.add_parser("import", help="make a conversation from an exported file")
    importing.add_argument("file", type=Path)
    whither = importing.add_mutually_exclusive_group()
    whither.add_argument(
        "--into", type=decode_word, metavar="THREAD", help="add it to this conversation instead of making a new one"
    )
    whither.add_argument(
        "--graph", type=decode_word, metavar="NAME", help="a graph of the settings that answers it, in place of the file's"
    )
    commands.add_parser("verify", help="check every message, chain, head and count; also while serving")
    commands.add_parser("reindex", help="make the search's index again, if `verify` says so")
    saving = commands.add_parser("backup", help="write a whole copy of the database; also while serving")
    saving.add_argument("file", type=Path)
    commands.add_parser("audit", help="write the audit log as lines of JSON, the newest first; also while serving")
    commands.add_parser("usage", help="print the tokens and costs of each person as JSON; also while serving")
    showing = commands.add_parser("demo", help="see time travel in this terminal; with a real model, where a key is set")
    showing.add_argument("which", choices=DEMONSTRATION_NAMES, help="goto: talk to it; compaction: watch")
    _add_erase_arguments(commands.add_parser("erase", help="destroy for good: a conversation, or what nothing reaches"))
    for command in added:
        command.add_arguments(commands.add_parser(command.name, help=command.help))
    parser.set_defaults(command="serve", web=False)
    return parser.parse_args(arguments)


def _add_export_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "thread", type=decode_word, nargs="?", metavar="THREAD", help="the end of the conversation's address, after /t/"
    )
    which.add_argument("--all", action="store_true", help="every conversation, each into a file of its own")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE|FOLDER", help="where to; one goes to the output without")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--format", choices=list(ENDINGS), default="waymark", help="only waymark can be imported")
    for name, purpose in (("markdown", "to read"), ("jsonl", "one line in OpenAI's form for fine-tuning")):
        form.add_argument(f"--{name}", dest="format", action="store_const", const=name, help=purpose)
    parser.add_argument("--redact-tool-results", action="store_true", help="leave out what tools answered")
    parser.add_argument("--leave-out-files", action="store_true", help="leave out what users attached")
    hidden = "leave this out; * is any letters"
    parser.add_argument("--redact", type=decode_word, action="append", default=[], metavar="WORD", help=hidden)


def decode_word(argument: str) -> str:
    """Decode an argument as UTF-8, if possible: the locale may misread a redacted word, a name or an id."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeDecodeError:
        return argument


def _add_erase_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "thread", type=decode_word, nargs="?", metavar="THREAD", help="a conversation, also one that is deleted"
    )
    which.add_argument("--person", type=decode_word, metavar="NAME", help="a person, and all that is theirs")
    which.add_argument("--unreachable", action="store_true", help="what no branch, no checkpoint and no undo can reach")
    parser.add_argument("--forget-undo", action="store_true", help="and what only undo could reach, deleted ones among it")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be erased, also beside a server; erase nothing"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
