"""The headers of every response: no content of other origins, no guessed types, and no caching except for files."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

# For users' files: the page shows or the user saves them, and they may not act.
INERT_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"
# For pages that strangers read by a link. No other site and no robot may learn that link. Links in them open tabs.
SHARED_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-popups allow-popups-to-escape-sandbox",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
IMMUTABLE_FILE_CACHING = "public, max-age=31536000, immutable"

# Dash's addresses with these parts have content that never changes: "?m=1700000000.0", "dash_table.v4_4_1m1700000000.js".
_VERSIONED_QUERY = re.compile(r"(^|&)[mv]=[\w.]+")
_VERSIONED_PATH = re.compile(r"\.v[\w-]+m[0-9a-fA-F]+\.")


def build_security_policy(script_hashes: Iterable[str]) -> str:
    """Allow no other origin, and only inline scripts with a given hash ("'sha256-...'", as Dash returns them).

    Styles may be inline because Dash's renderer injects them. Pictures in messages are blobs, because the page fetches them
    with its key.
    """
    scripts = " ".join(["script-src 'self'", *script_hashes])
    rest = "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    shown = "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; manifest-src 'self'"
    return f"default-src 'none'; {scripts}; {shown}; {rest}"


def hash_script(script: str) -> str:
    """Return the hash of an inline script in the notation of a policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def choose_file_caching(path: str, query: bytes, immutable_prefixes: tuple[str, ...]) -> str:
    """Return the Cache-Control of a file: immutable if its address changes with its content, else revalidated."""
    versioned = (
        path.startswith(immutable_prefixes)
        or _VERSIONED_QUERY.search(query.decode("latin-1"))
        or _VERSIONED_PATH.search(path)
    )
    return IMMUTABLE_FILE_CACHING if versioned else "no-cache"
