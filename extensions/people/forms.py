"""The forms of the pages before the sign-in: their fields, and where a browser continues afterwards."""

import re
from http import HTTPStatus
from urllib.parse import parse_qs, quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Scope

MAX_FORM_BYTES = 10_000
_OWN_ADDRESS = re.compile(r"/(t/[\w%.~:@!$&'()*+,;=/-]*)?(\?[\w%.~:@!$&'()*+,;=/?-]*)?", re.ASCII)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form, each once. Answers 400 for anything else."""
    try:
        found = parse_qs((await request.body()).decode(), keep_blank_values=True)
    except ValueError:
        raise HTTPException(HTTPStatus.BAD_REQUEST) from None
    return {name: values[0] for name, values in found.items()}


def clean_next_path(address: str) -> str:
    """Return the address if it is a page of ours. Any other address, such as another host's, becomes the start page."""
    return address if _OWN_ADDRESS.fullmatch(address) else "/"


def read_next_path(scope: Scope) -> str:
    """Return the address wanted by a browser before it was asked to sign in."""
    query = scope["query_string"].decode("latin-1")
    return clean_next_path(quote(scope["path"], safe="/%") + (f"?{query}" if query else ""))
