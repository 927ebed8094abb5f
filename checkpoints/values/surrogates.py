"""Lone surrogates among JSON's escapes, replaced before parsing."""

import re

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_SURROGATE = re.compile(rb"%b(?!%b)|(?<!%b)%b" % (_HIGH, _LOW, _HIGH, _LOW))
_REPLACEMENT = rb"\\ufffd"
# Stands for an escaped backslash. Accepted JSON contains no other NUL.
_BACKSLASH = b"\0"


def replace_lone_surrogates(raw: bytes) -> bytes:
    """Replace lone surrogate escapes, which could be neither stored nor sent back."""
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    return _LONE_SURROGATE.sub(_REPLACEMENT, raw.replace(b"\\\\", _BACKSLASH)).replace(_BACKSLASH, b"\\\\")
