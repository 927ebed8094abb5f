"""The arguments of tool calls, parsed at a cost that grows with their length alone.

LangChain parses the arguments of each piece of an answer, and of the pieces joined. Where they are not JSON, its parser
drops the last character and parses again, until the rest can be read: 16 kB with one unescaped quote took a second of the
event loop, and four times as long for each doubling. See decision 108.
"""

import json
import re
from enum import IntEnum
from typing import Any

from langchain_core.messages import ai

from checkpoints.values.limits import MAX_PART_VALUES, has_too_many_separators

_CLOSING = {"{": "}", "[": "]"}
_MARK = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"|\\?\Z)|[{}\[\]]', re.DOTALL
)  # a string, whatever it holds, or a bracket
_TOKEN = re.compile(
    r"[ \t\n\r]*+(?:"
    r'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*+)*+(")'
    r"|([\[\]{},:])"
    r"|(?:-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|true|false|null|NaN|-?Infinity)())"
)
_REPLACED = "parse_partial_json"


class _Next(IntEnum):
    """The kinds of token that may follow in JSON."""

    VALUE = 0
    VALUE_OR_END = 1  # after [
    KEY_OR_END = 2  # after {
    KEY = 3
    COLON = 4
    COMMA_OR_END = 5  # after a value


_VALUES = {'"': _Next.COMMA_OR_END, "": _Next.COMMA_OR_END, "{": _Next.KEY_OR_END, "[": _Next.VALUE_OR_END}
_FOLLOWING: dict[tuple[_Next, str], dict[str, _Next]] = {  # in which bracket, and by the end of the token
    (expected, bracket): following
    for bracket, after_comma in (("", None), ("{", _Next.KEY), ("[", _Next.VALUE))
    for expected, following in (
        (_Next.VALUE, _VALUES),
        (_Next.VALUE_OR_END, {**_VALUES, "]": _Next.COMMA_OR_END}),
        (_Next.KEY_OR_END, {'"': _Next.COLON, "}": _Next.COMMA_OR_END}),
        (_Next.KEY, {'"': _Next.COLON}),
        (_Next.COLON, {":": _Next.VALUE}),
        (_Next.COMMA_OR_END, {",": after_comma, _CLOSING[bracket]: _Next.COMMA_OR_END} if after_comma is not None else {}),
    )
}
_MAY_CLOSE = frozenset({_Next.VALUE_OR_END, _Next.KEY_OR_END, _Next.COMMA_OR_END})


def parse_cut_json(text: str) -> Any:
    """Parse JSON as far as it goes. None where brackets do not match; raises `ValueError` where nothing can be read."""
    found = _close_string(text)
    if found is None:
        return None
    closed, brackets = found
    end = _find_last_place(closed, brackets)
    if end == 0:
        return json.loads(text, strict=False)  # which raises the error
    return json.loads(closed[:end] + "".join(_CLOSING[each] for each in reversed(brackets)), strict=False)


def _close_string(text: str) -> tuple[str, str] | None:
    """Return a text whose last string is closed, and the brackets that it leaves open; None where some do not match."""
    brackets: list[str] = []
    for mark in _MARK.finditer(text):
        found = mark[0]
        if found in _CLOSING:
            brackets.append(found)
        elif found in ("}", "]"):
            if not brackets or _CLOSING[brackets.pop()] != found:
                return None
        elif mark["end"] != '"':
            return text[: mark.start("end")] + '"', "".join(brackets)
    return text, "".join(brackets)


def _find_last_place(text: str, wanted: str) -> int:
    """Return the end of the longest beginning that is JSON once exactly the wanted brackets are closed; 0 without one."""
    last, same = 0, 0  # `same`: of the open brackets from the outermost on, those that are wanted
    expected, bracket, brackets = _Next.VALUE, "", list[str]()
    place = 0
    while (token := _TOKEN.match(text, place)) is not None:  # a search would try every place
        place, end = token.end(), token[token.lastindex or 0]
        following = _FOLLOWING[expected, bracket].get(end)
        if following is None:
            break
        expected = following
        if end in ("{", "["):
            if same == len(brackets) and wanted[same : same + 1] == end:
                same += 1
            brackets.append(end)
            bracket = end
        elif end in ("}", "]"):
            brackets.pop()
            bracket = brackets[-1] if brackets else ""
            same = min(same, len(brackets))
        if same == len(brackets) == len(wanted) and expected in _MAY_CLOSE:
            last = place
    return last


class TooManyValuesError(ValueError):
    """Arguments hold more values than are parsed."""


def bound_argument_parsing() -> None:
    """Let LangChain's pieces of answers parse arguments with `parse_arguments`, in the whole process.

    Raises `AttributeError` for a version of LangChain that parses them elsewhere.
    """
    getattr(ai, _REPLACED)  # see above
    setattr(ai, _REPLACED, parse_arguments)


def parse_arguments(text: str) -> Any:
    """Parse JSON as `parse_partial_json` does, in a few passes. Raises `ValueError`, also for too many values."""
    if has_too_many_separators(text.encode(errors="ignore"), MAX_PART_VALUES):
        raise TooManyValuesError
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError:
        return parse_cut_json(text)
