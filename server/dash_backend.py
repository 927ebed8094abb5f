"""Dash's backend for the page's own FastAPI server, and Dash without settings of its own."""

import os
from collections.abc import MutableMapping
from typing import Any

from dash.backends import get_backend
from fastapi import FastAPI


def make_backend(server: FastAPI) -> Any:
    """Return a backend whose new server is this one. Dash imports Flask to compare it with a server that it is given."""

    dash_server: Any = get_backend("fastapi")

    class Backend(dash_server):  # type: ignore[misc]  # Dash ships no types
        websocket_capability = False  # Dash 4.4's WebSocket callbacks bypass authentication and die with the tab

        @staticmethod
        def create_app(*_: Any, **__: Any) -> FastAPI:
            return server

    return Backend


def remove_dash_variables(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove the variables that Dash reads, in either case: the settings of Waymark alone decide."""
    for name in [name for name in environ if name.upper().startswith("DASH_")]:
        del environ[name]
