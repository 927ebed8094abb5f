"""Each catalogue has every text of the sources, whole, and no other."""

import json
import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog, Message

from checkpoints.values.sentence import encode_sentence, plural_sentence, restore_sentence, sentence, store_sentence
from words import LANGUAGES, SOURCE_LANGUAGE, _, ngettext, say, say_error
from words.catalogues import load_catalogue
from words.extraction import ROOT, extract_python, find_texts, read_catalogue

OTHERS = [language for language in LANGUAGES if language != SOURCE_LANGUAGE]
VALUE = re.compile(r"\{[^{}]*\}")
MARKED_IN_BROWSER = re.compile(r'\b(?:_|ngettext)\(\s*("(?:[^"\\\n]|\\.)*")')


def list_pairs(message: Message) -> list[tuple[str, str]]:
    """Pair each form of a translation with the English text."""
    if isinstance(message.id, str):
        return [(message.id, str(message.string))]
    return [(message.id[-1], form) for form in message.string or ("",)]


def list_messages(language: str) -> list[Message]:
    return [message for message in read_catalogue(language) if message.id]


def list_all_pairs(language: str) -> list[tuple[str, str]]:
    return [pair for message in list_messages(language) for pair in list_pairs(message)]


@cache
def find_texts_once() -> Catalog:
    """Look through the sources, which takes a second, once for all tests."""
    return find_texts()


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_has_exactly_the_texts_of_the_sources(language: str) -> None:
    known = {message.id: [path for path, _line in message.locations] for message in list_messages(language)}
    found = {message.id: sorted(path for path, _line in message.locations) for message in find_texts_once() if message.id}
    assert {text: sorted(places) for text, places in known.items()} == found, "python -m words"
    assert not read_catalogue(language).obsolete


@pytest.mark.parametrize("language", OTHERS)
def test_no_translation_is_empty_or_uncertain(language: str) -> None:
    assert [message.id for message in list_messages(language) if message.fuzzy] == []
    assert [text for text, form in list_all_pairs(language) if not form.strip()] == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_values_of_its_text(language: str) -> None:
    """The form for one may leave out the number."""
    pairs = [({*VALUE.findall(text)}, {*VALUE.findall(form)}, form) for text, form in list_all_pairs(language)]
    assert [form for wanted, had, form in pairs if wanted - had - {"{count}"} or had - wanted] == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_begins_and_ends_with_a_space_where_its_text_does(language: str) -> None:
    pairs = [(text, form) for text, form in list_all_pairs(language) if text not in ("k", "M")]  # “3.4k” is “3,4 Tsd.”
    assert [text for text, form in pairs if (text[0] == " ", text[-1] == " ") != (form[0] == " ", form[-1] == " ")] == []


def test_a_text_within_an_f_string_is_found(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text("f\"<p>{_('Text {name}', name=name)}</p>\"\nngettext('one', 'two', 1)\nother('none')\n")
    with source.open("rb") as file:
        found = [texts for _line, _function, texts, _comments in extract_python(file, ["_", "ngettext"])]
    assert sorted(map(str, found)) == ["('one', 'two')", "Text {name}"]


def test_every_marked_text_of_a_browser_module_is_found() -> None:
    """Babel reads JavaScript without a grammar: a missed text would stay English."""
    known = {message.id if isinstance(message.id, str) else message.id[0] for message in find_texts_once() if message.id}
    modules = (ROOT / "assets").rglob("*.mjs")
    assert {json.loads(each) for path in modules for each in MARKED_IN_BROWSER.findall(path.read_text())} <= known


def test_a_text_without_a_catalogue_passes_through() -> None:
    assert _("Go {way}", way="on") == "Go on"
    assert ngettext("{count:,} message", "{count:,} messages", 1200) == "1,200 messages"
    assert say_error("The model could not answer.") == "The model could not answer."


@pytest.mark.usefixtures("german")
def test_numbers_are_written_as_the_language_does() -> None:
    assert ngettext("{count:,} message", "{count:,} messages", 1) == "1 Nachricht"
    assert ngettext("{count:,} message", "{count:,} messages", 1200) == "1.200 Nachrichten"


@pytest.mark.usefixtures("german")
def test_the_sentence_of_an_error_is_translated_with_its_values() -> None:
    error = ValueError(sentence("{name} is empty.", name="notes.txt"))
    assert str(error) == "notes.txt is empty."
    assert say(error) == "notes.txt ist leer."
    assert say(plural_sentence("{count} file", "{count} files", count=2)) == "2 Dateien"
    assert say("There is too little here to summarise.") == "Hier ist zu wenig, um es zusammenzufassen."


@pytest.mark.usefixtures("german")
def test_a_copy_of_a_sentence_is_one() -> None:
    assert say(deepcopy(sentence("{name} is empty.", name="notes.txt"))) == "notes.txt ist leer."


@pytest.mark.usefixtures("german")
def test_a_stored_error_is_translated_with_its_values() -> None:
    amount = plural_sentence("{count:,g} tool call", "{count:,g} tool calls", count=1000)
    reason = sentence("{owner} reached the limit of {amount}.", owner=sentence("The agent"), amount=amount)
    error = sentence("{reason} (reference {reference})", reason=reason, reference="1a2b3c4d")
    shown = "Der Agent hat die Grenze von 1.000 Werkzeugaufrufen erreicht. (Kennung 1a2b3c4d)"
    assert say_error(restore_sentence(str(error), store_sentence(error))) == shown
    assert say_error(restore_sentence("The model could not answer.", None)) == "Das Modell konnte nicht antworten."
    assert say_error(None) is None


def test_an_error_among_the_values_of_a_sentence_is_stored_as_its_text() -> None:
    error = sentence("This is not JSON: {reason}.", reason=ValueError("line 1"))
    assert encode_sentence(restore_sentence(str(error), store_sentence(error))) == encode_sentence(error)
    assert error == "This is not JSON: line 1."


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize(
    "stored",
    [
        "no JSON",
        "[]",
        "{}",
        '{"template": "{a}", "plural": "", "values": {}}',
        store_sentence(sentence("{a} fell.", a="Another")),
    ],
)
def test_a_template_that_does_not_fit_its_text_is_left(stored: str) -> None:
    assert say_error(restore_sentence("A model failed.", stored)) == "A model failed."


@pytest.mark.usefixtures("german")
def test_a_value_is_never_filled_in_itself() -> None:
    hostile: Any = "{name} {0.__class__} {count:,}"
    assert _("“{name}” was deleted.", name=hostile) == f"„{hostile}“ wurde gelöscht."
    assert say(sentence("{name} is empty.", name=hostile)) == f"{hostile} ist leer."


def test_the_browser_gets_the_texts_of_its_modules() -> None:
    given: Any = load_catalogue("de").list_browser_texts()
    assert given["texts"]["New conversation"] == "Neuer Chat"
    assert given["texts"]["{count} message"] == ["{count} Nachricht", "{count} Nachrichten"]
    assert given["forms"] == ["one", "other"]
    assert "{name} was written by an older Waymark: start this one on it once." not in given["texts"]
