"""Who may enter: the ways in that the settings name, and links for people from the command line."""

import secrets
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import factory
from checkpoints import Store
from command_line import Arguments
from commands import EXIT_OK, print_line, print_refusal
from components.services import Services
from config import Settings
from page_server import format_host
from server.session_door import SessionDoor
from server.sign_in import SignIn
from server.static_files import load_page_files

if TYPE_CHECKING:
    from people.admin import People


def build_sign_in(settings: Settings, port: int, address: str, on_stale_link: Callable[[str], None]) -> SessionDoor | None:
    """Return the way in of one person, by a link; None where others sign in, or nobody does."""
    if settings.auth != "token":
        return None
    return SignIn(
        factory.open_sessions(settings.data_dir, port),
        address=address,
        public_url=settings.public_url,
        script=f"{load_page_files().root}/sign-in.js",
        on_stale_link=on_stale_link,
    )


def build_people(settings: Settings, address: str, services: Services) -> "People | None":
    """Return the way in with a password; only then is argon2 imported."""
    if settings.auth != "password":
        return None
    from checkpoints.accounts import Accounts  # noqa: PLC0415
    from checkpoints.sign_in_counters import SignInCounters  # noqa: PLC0415
    from people.admin import People  # noqa: PLC0415
    from people.door import PasswordDoor  # noqa: PLC0415
    from people.pages import Pages  # noqa: PLC0415
    from people.passwords import Passwords  # noqa: PLC0415
    from people.sessions import PersonSessions  # noqa: PLC0415
    from people.tries import TryLimits  # noqa: PLC0415

    files = load_page_files().root
    door = PasswordDoor(
        PersonSessions(services.store),
        Accounts(services.store),
        TryLimits(SignInCounters(services.store)),
        Passwords(),
        Pages(files),
        services.run_blocking,
        address=address,
        public_url=settings.public_url,
        script=f"{files}/sign-in.js",
        proxies=settings.proxy_networks or (),
    )
    return People(door, services)


def print_invitation(arguments: Arguments, settings: Settings) -> int:
    """Print a link for a new person, or for a new password. It works beside a server."""
    if settings.auth != "password":
        return print_refusal("Links are for AUTH=password: no other way in has people of its own.")
    from checkpoints.accounts import THE_COMMAND_LINE, Accounts, InvalidAccountError, Role  # noqa: PLC0415
    from checkpoints.storage.beside import open_beside  # noqa: PLC0415

    token = secrets.token_urlsafe(32)
    with closing(open_beside(settings.connection_url)) as database:
        try:
            Accounts(Store(database)).invite(
                token, Role(arguments.role), made_by=THE_COMMAND_LINE, days=arguments.days, person=arguments.person
            )
        except InvalidAccountError as error:
            return print_refusal(str(error))
    address = settings.public_url or f"http://{format_host(settings.host)}:{settings.port}"
    print_line(f"{address}/join?token={token}")
    return EXIT_OK
