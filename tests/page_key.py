"""The page key, as a browser gets it for a link."""

import re


def read_page_key(page: str) -> str | None:
    """The key in the answer to a link; None where nobody signs in."""
    found = re.search('data-page-key="([^"]+)"', page)
    return found[1] if found else None
