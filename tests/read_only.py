"""Folders that cannot be written, for tests that may run as root."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, which no folder refuses."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def close_folder(file: Path, *, file_mode: int) -> None:
    """Make the folder of a file read-only; the files in it get this mode."""
    for path in file.parent.iterdir():
        path.chmod(file_mode)
    file.parent.chmod(0o555)
