"""What an extension of Waymark may bring. `create_app` joins those that it is given (`extensions/`, docs/extending.md)."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Literal, ParamSpec, Protocol, TypeVar

from fastapi import FastAPI
from sqlalchemy import MetaData
from starlette.types import ASGIApp

from agent.run.blocking import BlockingPool
from agent.run.hub import RunHub
from agent.run.parts import RunFollower, RunParts, UserGraphRuns
from agent.run.runner import Runner
from agent.run.wire import ProcessWire
from agent.tracing.protocol import Tracer
from application.settings import Settings, SettingsError
from checkpoints import Store
from components.panel import Panel
from components.services import Services
from components.sign_in import ServerPeople
from components.transfers.long_requests import LongRequests
from components.transfers.uploads import Uploads
from server.session.session_authentication import SessionAuthentication
from server.trusted_proxy import TrustedProxy

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

# The group of the entry points by which other packages declare extensions.
ENTRY_POINTS = "waymark.extensions"
P = ParamSpec("P")
T = TypeVar("T")
# A process begins runs and drives them, or does only one of the two.
Role = Literal["all", "web", "work"]


class Processes(Protocol):
    """The processes on one database, this one among them."""

    def build_wire(self, hub: RunHub, blocking: BlockingPool) -> ProcessWire: ...

    def build_uploads(self, blocking: BlockingPool) -> Uploads: ...

    def build_long_requests(self, blocking: BlockingPool) -> LongRequests: ...

    def add_worker(self, runner: Runner) -> None:
        """Let the runner take runs of the other processes, and leave them its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPart:
    """What an extension adds to the server of a process, with or without a page."""

    add_routes: Callable[[FastAPI], None] | None = None
    # These paths are served without a sign-in.
    public_paths: frozenset[str] = frozenset()
    # The limits are in bytes by path, where MAX_BODY_BYTES does not fit.
    max_body_bytes: Mapping[str, int] = field(default_factory=dict)
    # Wraps the whole app.
    watch: Callable[[ASGIApp], ASGIApp] | None = None
    close: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class PeopleSignIn:
    """The sign-in of people, what the page asks of it, and its own routes."""

    authentication: SessionAuthentication
    people: ServerPeople
    part: ServerPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command beside `serve`. `run` returns the exit code, and raises `StateError` and `SettingsError`."""

    name: str
    help: str
    run: Callable[[Namespace, Settings], int]
    add_arguments: Callable[[ArgumentParser], None] = lambda _: None


BuildDriver = Callable[[Store, RunHub, BlockingPool], UserGraphRuns]
BuildFollower = Callable[[Settings, RunParts], RunFollower | None]
BuildTool = Callable[[Settings, Store], "BaseTool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What an extension brings; all of it is optional. The functions raise `SettingsError` for unusable settings.

    `load_graphs` returns None without graphs, `join_processes` for a database of a single process, and the others if the
    settings do not ask for what they build. `build_sign_in` gets the public address of the page.
    """

    name: str
    build_tracer: Callable[[Settings], Tracer | None] | None = None
    load_graphs: Callable[[Settings], BuildDriver | None] | None = None
    list_graph_names: Callable[[Settings], Sequence[str]] | None = None
    join_processes: Callable[[Settings, Store, Role], Processes | None] | None = None
    build_sign_in: Callable[[Settings, str, Services], PeopleSignIn | None] | None = None
    build_proxy: Callable[[Settings], TrustedProxy | None] | None = None
    commands: Sequence[Command] = ()
    # These are made if they are missing. Their names begin with that of the extension.
    tables: MetaData | None = None
    # The tools of the agent, by their names.
    tools: Mapping[str, BuildTool] = field(default_factory=dict)
    # What the page shows more, with callbacks and the actions of lists: see docs/pages.md.
    panels: Sequence[Panel] = ()
    # Follows the runs, such as to save what they found.
    build_follower: BuildFollower | None = None
    build_server_part: Callable[[Settings, Services], ServerPart | None] | None = None


def build_each(builders: Iterable[Callable[P, T | None] | None], *args: P.args, **kwargs: P.kwargs) -> list[T]:
    """Return what the extensions build, in their order."""
    built = (build(*args, **kwargs) for build in builders if build is not None)
    return [each for each in built if each is not None]


def build_first(builders: Iterable[Callable[P, T | None] | None], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """Return what the first extension that builds it has built; None if none does."""
    built = (build(*args, **kwargs) for build in builders if build is not None)
    return next((each for each in built if each is not None), None)


def load_installed(name: str) -> Extension:
    """Import the extension that an installed package declares by this name. Raises `SettingsError`."""
    for entry_point in metadata.entry_points(group=ENTRY_POINTS, name=name):
        try:
            found = entry_point.load()
        except Exception as error:
            raise SettingsError(f"EXTENSIONS: {name} cannot be imported: {type(error).__name__}: {error}") from error
        if not isinstance(found, Extension):
            raise SettingsError(f"EXTENSIONS: {entry_point.value} of {name} is no Extension.")
        _check_tables(found)
        return found
    known = ", ".join(sorted({each.name for each in metadata.entry_points(group=ENTRY_POINTS)})) or "none"
    raise SettingsError(f"EXTENSIONS: no installed package has an extension {name!r}. Installed: {known}.")


def _check_tables(extension: Extension) -> None:
    """Refuse a table that might be one of Waymark's: it would be used as it is."""
    for table in extension.tables.tables if extension.tables is not None else ():
        if not table.startswith(f"{extension.name}_"):
            raise SettingsError(f"EXTENSIONS: the table {table} of {extension.name} must begin with {extension.name}_.")
