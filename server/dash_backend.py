"""Dash's backend for the page's own FastAPI server."""

from typing import Any

from dash.backends._fastapi import FastAPIDashServer
from fastapi import FastAPI


def make_backend(server: FastAPI) -> type[FastAPIDashServer]:
    """Return a backend whose new server is this one. Dash imports Flask to compare it with a server that it is given."""

    class Backend(FastAPIDashServer):
        websocket_capability = False  # Dash 4.4's WebSocket callbacks bypass authentication and die with the tab

        @staticmethod
        def create_app(*_: Any, **__: Any) -> FastAPI:
            return server

    return Backend
