"""The server's own short answers: a text, a page with a sentence, and a page that sends the browser on."""

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from http import HTTPStatus
from pathlib import Path

from starlette.responses import HTMLResponse, PlainTextResponse, Response

from server.addresses import build_address
from words import N_, _, get_language

# Addresses of these pages contain tokens of links and codes of providers. The next page must not learn them.
_METAS = (
    '<meta name="referrer" content="no-referrer">'
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
)

# The page's style sheet hides this text, so it is visible only if the page's files do not arrive.
LOST_FILES = N_(
    "The files of this page cannot be loaded, so it does not work. If Waymark is below a path of this host, set URL_PREFIX "
    "to that path, such as /waymark/. Otherwise, reload the page."
)
_LATE_STYLE = (
    "@keyframes show { to { opacity: 1 } } p { opacity: 0; font: 1.2rem/1.5 system-ui; animation: show 0s 3s forwards }"
)
_ASSETS = Path(__file__).parent.parent / "assets"
_DARK = re.compile(r'\[data-bs-theme="dark"\] (\{.*?\})', re.DOTALL)


_STYLES = ("modules/controls/tokens.css", "sign-in.css")


@cache
def _build_style() -> str:
    """Build the style of a page without a script, whose browser has no session and may fetch no file."""
    style = "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in _STYLES)
    return _DARK.sub(r"@media (prefers-color-scheme: dark) { :root \1 }", style)


def _build_head() -> str:
    return f'<!doctype html><html lang="{get_language()}">{_METAS}<title>Waymark</title>'


def build_text(status: HTTPStatus, text: str = "", headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse((text or status.phrase) + "\n", status, headers)


def build_page(status: HTTPStatus, title: str, text: str) -> Response:
    content = f'<p class="sign-in-brand">Waymark</p><h1>{escape(title)}</h1><p>{escape(text)}</p>'
    body = f'<style>{_build_style()}</style><body class="sign-in"><main>{content}</main></body></html>'
    return HTMLResponse(_build_head() + body, status)


def build_refresh(address: str) -> Response:
    """Send the browser to an address of ours from a page of ours.

    This is not a redirect. If a redirect chain began on another site, the browser withholds a Strict cookie from the whole
    chain, even the cookie just set by the redirect itself.
    """
    return HTMLResponse(f'{_build_head()}<meta http-equiv="refresh" content="0; url={escape(address)}"></html>')


def build_key_page(script: str, page_key: str, next_path: str = "/", person: str = "") -> Response:
    """Pass a new session's page key and person to our script, which has a path. It keeps them and opens a page of ours.

    If the script does not arrive, a sentence says so after a moment.
    """
    given = {"page-key": page_key, "person": person, "root": build_address("/"), "next": build_address(next_path)}
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in given.items())
    text = f"<style>{_LATE_STYLE}</style><p>{escape(_(LOST_FILES))}</p>"
    return HTMLResponse(f'{_build_head()}<script src="{escape(build_address(script))}" {data}></script>{text}</html>')
