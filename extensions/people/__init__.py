"""Several people: who comes in with a password, by a provider or a proxy, and as what. Only these AUTHs import it."""

from application.extension import Extension
from extensions.people import password_dialog, people_dialog
from extensions.people.building import build_proxy, build_sign_in
from extensions.people.commands import COMMANDS

EXTENSION = Extension(
    name="people",
    build_sign_in=build_sign_in,
    build_proxy=build_proxy,
    commands=COMMANDS,
    panels=[people_dialog.PANEL, password_dialog.PANEL],
)
