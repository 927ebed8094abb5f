"""Third-party files that the page loads, served from the installed packages: none is copied, none comes from elsewhere."""

import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from starlette.responses import Response

from components.markdown import highlight_css

ICONS = frozenset(  # the names in assets/modules/icons.mjs; a test holds the two together
    {
        *("arrow-clockwise", "arrow-counterclockwise", "arrow-down", "arrow-repeat", "arrow-up", "check-lg"),
        *("box-arrow-up-right", "hand-index", "hand-thumbs-down", "hand-thumbs-down-fill", "hand-thumbs-up"),
        *("hand-thumbs-up-fill",),
        *("chevron-right", "circle-half", "clock-history", "copy", "diamond-fill", "diagram-2", "download", "eraser"),
        *("exclamation-circle", "exclamation-triangle", "gear", "list", "moon-stars"),
        *(
            "pencil",
            "person",
            "pin-angle",
            "pin-angle-fill",
            "plus-lg",
            "robot",
            "shield-check",
            "signpost-2",
            "signpost-split",
            "stop-circle",
            "stop-fill",
        ),
        *("sun", "trash3", "upload", "x-lg"),
    }
)
_STATIC = Path(str(files("flask_bootstrap"))) / "static" / "bootstrap5"
_VERSION = version("Bootstrap-Flask")
STYLESHEETS = (f"/vendor/bootstrap.min.css?v={_VERSION}", "/vendor/highlight.css")


@cache
def bootstrap_css() -> str:
    css = (_STATIC / "css" / "bootstrap.min.css").read_text()
    return css.replace("/*# sourceMappingURL=bootstrap.min.css.map */", "")


@cache
def icon_sprite() -> str:
    """The page's few icons out of the package's two thousand."""
    every = (_STATIC / "icons" / "bootstrap-icons.svg").read_text()
    symbols = re.findall(r'<symbol[^>]* id="([^"]+)".*?</symbol>', every, re.DOTALL)
    whole = re.finditer(r"<symbol.*?</symbol>", every, re.DOTALL)
    chosen = [match.group() for name, match in zip(symbols, whole, strict=True) if name in ICONS]
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(chosen)}</svg>'


def add_routes(server: FastAPI) -> None:
    contents: dict[str, tuple[str, Callable[[], str]]] = {
        "/vendor/bootstrap.min.css": ("text/css", bootstrap_css),
        "/vendor/highlight.css": ("text/css", highlight_css),
        "/vendor/icons.svg": ("image/svg+xml", icon_sprite),
    }
    for path, (media_type, content) in contents.items():
        server.add_api_route(path, _serving(content, media_type), methods=["GET"])


def _serving(content: Callable[[], str], media_type: str) -> Callable[[], Response]:
    return lambda: Response(content(), media_type=media_type)
