"""The catalogues: a `.po` file for each language, read when the first person asks for it."""

from datetime import datetime
from functools import cache
from io import BytesIO
from pathlib import Path

from babel import Locale
from babel.dates import format_datetime
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from babel.numbers import format_decimal

from words import read_entries

FOLDER = Path(__file__).parent
# The browser needs the texts of these files.
BROWSER_PLACES = ("assets/",)
_MAX_PROBED_NUMBER = 200


class PoCatalogue:
    def __init__(self, language: str, entries: Catalog) -> None:
        self.language = language
        self.forms = list_categories(entries)
        self._locale = Locale.parse(language)
        self._texts: dict[str, str] = {}
        self._plurals: dict[str, tuple[str, ...]] = {}
        self._for_browser: list[str] = []
        for entry in entries:
            if not entry.id or entry.fuzzy or not entry.string:
                continue
            key = entry.id if isinstance(entry.id, str) else entry.id[0]
            if isinstance(entry.id, str):
                self._texts[key] = str(entry.string)
            else:
                self._plurals[key] = tuple(entry.string)
            if any(place.startswith(BROWSER_PLACES) for place, _ in entry.locations):
                self._for_browser.append(key)

    def find(self, message: str) -> str:
        return self._texts.get(message, message)

    def find_plural(self, one: str, other: str, count: float) -> str:
        forms = self._plurals.get(one)
        if forms is None:
            return one if count == 1 else other
        return forms[self.forms.index(self._locale.plural_form(count))]

    def format_count(self, number: float) -> str:
        return format_decimal(number, locale=self._locale)

    def format_moment(self, moment: datetime) -> str:
        return format_datetime(moment, "d. MMM y, HH:mm", tzinfo=moment.tzinfo, locale=self._locale)

    def list_browser_texts(self) -> dict[str, object]:
        """Return the browser's texts by their English, several forms in the order of `forms`."""
        texts = {key: self._texts.get(key) or list(self._plurals[key]) for key in self._for_browser}
        return {"language": self.language, "forms": self.forms, "texts": texts}


def list_categories(entries: Catalog) -> list[str]:
    """Return Unicode's names for the catalogue's plural forms, in order: `Intl.PluralRules` uses the same names."""
    locale = Locale.parse(str(entries.locale))
    return list(dict.fromkeys(locale.plural_form(number) for number in (1, *range(_MAX_PROBED_NUMBER))))


@cache
def load_catalogue(language: str) -> PoCatalogue:
    return PoCatalogue(language, read_po(BytesIO(read_entries(language)), locale=language))
