"""Dash's backend for the page's own FastAPI server, and Dash without its environment variables."""

import os
from collections.abc import MutableMapping
from typing import Any

from dash.backends import get_backend
from fastapi import FastAPI


def make_backend(server: FastAPI) -> Any:
    """Return a backend whose new server is this server. If Dash is given a server, it imports Flask to compare the two."""
    dash_server: Any = get_backend("fastapi")

    class Backend(dash_server):  # type: ignore[misc]  # Dash ships no types
        # Dash 4.4's WebSocket callbacks bypass authentication and die with the tab.
        websocket_capability = False

        @staticmethod
        def create_app(*_: Any, **__: Any) -> FastAPI:
            return server

    return Backend


def remove_dash_variables(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove Dash's environment variables, in either case, so only Waymark's settings apply."""
    for name in [name for name in environ if name.upper().startswith("DASH_")]:
        del environ[name]
