"""Halves of surrogate pairs among the escapes of JSON, before it is parsed."""

import re

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_SURROGATE = re.compile(rb"%b(?!%b)|(?<!%b)%b" % (_HIGH, _LOW, _HIGH, _LOW))
_REPLACEMENT = rb"\\ufffd"
_BACKSLASH = b"\0"  # for an escaped one; no JSON that is taken has another NUL


def replace_lone_surrogates(raw: bytes) -> bytes:
    """Return JSON whose escapes are text: half of a surrogate pair could be neither kept nor sent back."""
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    return _LONE_SURROGATE.sub(_REPLACEMENT, raw.replace(b"\\\\", _BACKSLASH)).replace(_BACKSLASH, b"\\\\")
