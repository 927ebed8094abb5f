"""A language whose texts are the English ones in letters with marks: a plain letter on the page is an unmarked text."""

import re
from collections.abc import Iterator
from functools import cache

from babel.messages.catalog import Catalog, Message

import words.catalogues
from tests.words.templates import Templates, fill_template
from words.catalogues import PoCatalogue
from words.extraction import read_catalogue

LANGUAGE = "de"  # the place of which it takes: a browser asks for it by this name
PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MARKED = "ÀƁÇÐÉƑĜĤÎĴĶĻṀÑÖÞǪŔŠŦÛṼŴẊÝŽàƀçðéƒĝĥîĵķļṁñöþǫŕšŧûṽŵẋýž"
_VALUE = re.compile(r"(\{\{\w+\}\}|\{[^{}]*\})")
_TO_MARKED = str.maketrans(PLAIN, MARKED)


def use_pseudo_language() -> None:
    """Serve it in this process."""
    words.catalogues.load_catalogue = _load_catalogue


def mark(text: str) -> str:
    """Put marks on the letters of a text, and leave its values."""
    parts = _VALUE.split(text)
    return "".join(part if number % 2 else part.translate(_TO_MARKED) for number, part in enumerate(parts))


def translate(text: str) -> str:
    """Return an English text of the page as it is in this language; data as it is."""
    if text in _list_forms():
        return mark(text)
    found = _load_templates().find(text)
    return (
        text if found is None else fill_template(mark(found[0]), {name: translate(each) for name, each in found[1].items()})
    )


@cache
def _load_catalogue(language: str) -> PoCatalogue:
    return PoCatalogue(language, _build_entries(language))


def _build_entries(language: str) -> Catalog:
    entries = read_catalogue(language)
    for message in entries:
        if message.id:
            message.string = mark(message.id) if isinstance(message.id, str) else tuple(map(mark, message.id))
    return entries


@cache
def _list_forms() -> frozenset[str]:
    return frozenset(form for message in read_catalogue(LANGUAGE) if message.id for form in _split_forms(message))


@cache
def _load_templates() -> Templates:
    numbered = (re.sub(r"\{(?=\})", "{value", form) for form in _list_forms())
    return Templates((form, form) for form in numbered)


def _split_forms(message: Message) -> Iterator[str]:
    yield from [message.id] if isinstance(message.id, str) else message.id
