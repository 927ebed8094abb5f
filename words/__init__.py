"""The words that people read, in their language. English is the source: a text is its own key in the catalogues beside this.

`_` and `ngettext` translate for the language of the current request; `N_` only marks a text for a later translation. The
texts of errors come as sentences with their values (checkpoints/values/sentence.py), and `say` translates those.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from string import Formatter
from typing import Any, Protocol, TypeVar

SOURCE_LANGUAGE = "en"
# Each language is by its tag, under its own name.
LANGUAGES: Mapping[str, str] = {"en": "English", "de": "Deutsch"}
_FOLDER = Path(__file__).parent
T = TypeVar("T")


class Catalogue(Protocol):
    """The texts of a language other than English."""

    language: str

    def find(self, message: str) -> str:
        """Return the translation, or the message itself."""
        ...

    def find_plural(self, one: str, other: str, count: float) -> str: ...

    def format_count(self, number: float) -> str:
        """Return a number with the language's separators."""
        ...

    def format_moment(self, moment: datetime) -> str: ...


# English has None.
_current: ContextVar[Catalogue | None] = ContextVar("language", default=None)


def read_entries(language: str) -> bytes:
    """Read the `.po` file of a language other than English."""
    return (_FOLDER / f"{language}.po").read_bytes()


def get_language() -> str:
    catalogue = _current.get()
    return SOURCE_LANGUAGE if catalogue is None else catalogue.language


def use_catalogue(catalogue: Catalogue | None) -> None:
    """Use a language in the current context, such as a request's."""
    _current.set(catalogue)


def set_language(language: str) -> None:
    """Use a language in the current context. For English, no catalogue is loaded."""
    if language == SOURCE_LANGUAGE:
        use_catalogue(None)
        return
    from words.catalogues import load_catalogue  # noqa: PLC0415  (Babel takes time and memory that English does not need)

    use_catalogue(load_catalogue(language))


def _(message: str, /, **values: object) -> str:
    """Translate a text, and fill in its values: `_("Go to {place}", place=name)`."""
    catalogue = _current.get()
    text = message if catalogue is None else catalogue.find(message)
    return fill(text, values, catalogue) if values else text


def ngettext(one: str, other: str, count: float, /, **values: object) -> str:
    """Translate a text for a number, its value `count`."""
    catalogue = _current.get()
    if catalogue is None:
        return fill(one if count == 1 else other, {"count": count, **values}, None)
    return fill(catalogue.find_plural(one, other, count), {"count": count, **values}, catalogue)


def N_(message: str) -> str:
    """Mark a text for the catalogues. It is translated where it is shown."""
    return message


def say(text: object) -> str:
    """Translate the sentence of an error, or a marked text."""
    text = str(text)
    catalogue = _current.get()
    if catalogue is None:
        return text
    template, plural = getattr(text, "template", text), getattr(text, "plural", "")
    values: Mapping[str, Any] = getattr(text, "values", {})
    translated = catalogue.find_plural(template, plural, values["count"]) if plural else catalogue.find(template)
    return fill(translated, {name: _say_value(value) for name, value in values.items()}, catalogue) if values else translated


def _say_value(value: object) -> object:
    return say(value) if hasattr(value, "template") else value


def say_error(text: str | None) -> str | None:
    """Translate the error of a run, if there is one. Errors of older versions have no template and stay English."""
    return None if text is None else say(text)


def say_moment(moment: datetime) -> str:
    """Return a moment to the minute, in its own time zone: "29 Nov 2026, 22:55"."""
    catalogue = _current.get()
    return f"{moment.day} {moment:%b %Y, %H:%M}" if catalogue is None else catalogue.format_moment(moment)


def arrange(text: str, **parts: T) -> list[str | T]:
    """Return a translated text with components in the places of its values."""
    pieces: list[str | T] = []
    for literal, name, _spec, _conversion in Formatter().parse(text):
        pieces += [literal] if literal else []
        pieces += [parts[name]] if name else []
    return pieces


class _LocalFormatter(Formatter):
    """Python's format, with the language's separators for `,`."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def format_field(self, value: Any, format_spec: str) -> Any:
        is_count = format_spec in (",", ",g") and isinstance(value, int | float)
        return self._catalogue.format_count(value) if is_count else super().format_field(value, format_spec)


def fill(text: str, values: Mapping[str, object], catalogue: Catalogue | None) -> str:
    if catalogue is None:
        return text.format(**values)
    return _LocalFormatter(catalogue).vformat(text, (), values)
