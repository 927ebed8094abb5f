"""The addresses that a process contacts, or asks the names of: Python reports each before it happens.

A library that does this in C reports nothing, as PostgreSQL's does.
"""

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn

CONTACTS_KEY = "CONTACTS_FILE"  # the variable that names the file, for a server of a test
_SENDING = ("socket.connect", "socket.sendto", "socket.sendmsg")  # their arguments: the socket and the address
_ASKING = ("socket.getaddrinfo", "socket.gethostbyname")  # their first argument: the name


def note_contacts(file: Path) -> None:
    """Write each address that this process contacts from now on as a line of the file.

    Its server runs on Python's own loop: uvloop connects in C.
    """
    lines = file.open("a", encoding="utf-8", buffering=1)

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _SENDING and arguments[0].family in (socket.AF_INET, socket.AF_INET6) and arguments[1]:
            lines.write("{}:{}\n".format(*arguments[1]))
        elif event in _ASKING:
            name = arguments[0]
            lines.write(f"{name.decode() if isinstance(name, bytes) else name}\n")

    sys.addaudithook(note)
    uvicorn.Config.get_loop_factory = lambda _: asyncio.new_event_loop  # type: ignore[assignment,method-assign,return-value]


def read_contacts(file: Path) -> set[str]:
    """Return the addresses in the file."""
    return set(file.read_text(encoding="utf-8").splitlines()) if file.exists() else set()
