"""The files of the page beside Dash's own and our modules: the icons, and every stylesheet in one.

Third-party files come from the installed packages: none is copied, none is fetched.
"""

import hashlib
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from pygments.formatters import HtmlFormatter
from starlette.responses import Response

_BOOTSTRAP = Path(str(files("flask_bootstrap"))) / "static" / "bootstrap5"
_ASSETS = Path(__file__).parent.parent / "assets"
_MODULES = _ASSETS / "modules"
# The browser's rooms, floor by floor: a module imports only from its own room and from those before it.
ROOMS = ("lib", "page", "settings", "message", "transcript", "composer", "timeline", "threads")
_ICON_LIST = re.compile(r"export const ICONS = \[(.*?)\]", re.DOTALL)


@cache
def build_stylesheet() -> str:
    """Join Bootstrap, the colours of code, and the panels' own. One file: each costs every cold load some ms."""
    bootstrap = (_BOOTSTRAP / "css" / "bootstrap.min.css").read_text()
    bootstrap = bootstrap.replace("/*# sourceMappingURL=bootstrap.min.css.map */", "")
    return "\n".join([bootstrap, build_highlight_css(), *(path.read_text() for path in _list_eager_styles())])


def build_highlight_css() -> str:
    """Return the rules for highlighted code in light and in dark colours.

    Of pygments' styles these two have at least 4.5:1 (WCAG AA) in every colour, on #f3f5f5 and on #1b1f20.
    """
    light = _build_colour_rules("xcode", ":root:not([data-bs-theme=dark]) .code")
    return light + _build_colour_rules("lightbulb", "[data-bs-theme=dark] .code")


def _build_colour_rules(style: str, selector: str) -> str:
    """Build the token rules of a style without its backgrounds and frames, which the page sets itself."""
    rules = HtmlFormatter(style=style).get_token_style_defs(selector)  # type: ignore[no-untyped-call]
    lines = (re.sub(r"(background-color|border): [^;}]+;? ?", "", rule) for rule in rules)
    return "".join(line + "\n" for line in lines if "{ }" not in line)


def _list_eager_styles() -> list[Path]:
    """List the stylesheets of the rooms, lower floors first: the rules of one panel come after those of all."""
    return [
        path
        for room in ROOMS
        for path in sorted((_MODULES / room).glob("*.css"), key=lambda path: (path.stem != "tokens", path.name))
        if not path.name.endswith(".lazy.css")
    ]


def build_stylesheet_address() -> str:
    """Build the address. It changes with the content, so that a browser may cache the file."""
    return f"/vendor/waymark.css?v={hashlib.sha256(build_stylesheet().encode()).hexdigest()[:16]}"


def list_eager_modules() -> list[str]:
    """List the addresses of the modules that every page needs. A `*.lazy.mjs` is fetched on demand, types.mjs never."""
    paths = (path for path in _MODULES.rglob("*.mjs") if not path.name.endswith((".lazy.mjs", "types.mjs")))
    return sorted(f"/assets/{path.relative_to(_ASSETS).as_posix()}" for path in paths)


@cache
def build_icon_sprite() -> str:
    """Build a sprite of the page's icons, out of the package's two thousand."""
    listed = _ICON_LIST.search((_MODULES / "lib" / "icons.mjs").read_text())
    names = set(re.findall(r'"([^"]+)"', listed[1])) if listed else set()
    every = (_BOOTSTRAP / "icons" / "bootstrap-icons.svg").read_text()
    symbols = re.findall(r'<symbol[^>]* id="([^"]+)".*?</symbol>', every, re.DOTALL)
    whole = re.finditer(r"<symbol.*?</symbol>", every, re.DOTALL)
    chosen = [match.group() for name, match in zip(symbols, whole, strict=True) if name in names]
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(chosen)}</svg>'


def add_static_routes(server: FastAPI) -> None:
    contents: dict[str, tuple[str, Callable[[], str]]] = {
        "/vendor/waymark.css": ("text/css", build_stylesheet),
        "/vendor/icons.svg": ("image/svg+xml", build_icon_sprite),
    }
    for path, (media_type, content) in contents.items():
        server.add_api_route(path, _create_handler(content, media_type), methods=["GET"])


def _create_handler(content: Callable[[], str], media_type: str) -> Callable[[], Response]:
    return lambda: Response(content(), media_type=media_type)
