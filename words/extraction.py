"""Find the texts in the sources, and merge them into the catalogues: `python -m words`."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po

from words import LANGUAGES, SOURCE_LANGUAGE
from words.catalogues import FOLDER

ROOT = FOLDER.parent
PACKAGES = ("agent", "application", "assets", "checkpoints", "components", "extensions", "server")
KEYWORDS: dict[str, Any] = {
    **dict.fromkeys(("_", "N_", "sentence")),
    **dict.fromkeys(("ngettext", "plural_sentence"), (1, 2)),
}
# A text in HTML is marked like this.
MARKED = re.compile(r"\{_(.+?)_\}")
_Found = Iterator[tuple[int, str, str | tuple[str, ...], list[str]]]


def extract_python(file: IO[bytes], keywords: Collection[str], *_args: object, **_options: object) -> _Found:
    """Find the marked texts of a module, also inside f-strings: Babel's own extraction misses those."""
    for node in ast.walk(ast.parse(file.read())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in keywords:
            texts = tuple(each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str))
            if texts:
                yield node.lineno, node.func.id, texts if len(texts) > 1 else texts[0], []


def extract_html(file: IO[bytes], *_args: object, **_options: object) -> _Found:
    for number, line in enumerate(file.read().decode().splitlines(), 1):
        yield from ((number, "_", found, []) for found in MARKED.findall(line))


_METHODS: dict[str, Any] = {".py": extract_python, ".mjs": "javascript", ".js": "javascript", ".html": extract_html}


def find_texts() -> Catalog:
    """Extract the texts of all sources, each with the files that have it."""
    found = Catalog(fuzzy=False)
    for path in _list_sources():
        with path.open("rb") as file:
            for _, message, _, _ in extract(
                _METHODS[path.suffix], file, KEYWORDS, options={"parse_template_string": "true"}
            ):
                found.add(message, locations=[(path.relative_to(ROOT).as_posix(), 0)])
    return found


def _list_sources() -> Iterable[Path]:
    return sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.suffix in _METHODS)


def read_catalogue(language: str) -> Catalog:
    path = FOLDER / f"{language}.po"
    if not path.exists():
        return Catalog(locale=language, fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def update_catalogues() -> None:
    """Add new texts to each catalogue without a translation, and drop texts without a source."""
    found = find_texts()
    for language in LANGUAGES:
        if language != SOURCE_LANGUAGE:
            catalogue = read_catalogue(language)
            created_at = catalogue.creation_date
            catalogue.update(found, no_fuzzy_matching=True)
            # An update without a new text changes nothing.
            catalogue.creation_date = created_at
            catalogue.obsolete.clear()
            with (FOLDER / f"{language}.po").open("wb") as file:
                write_po(file, catalogue, width=120, omit_header=False, include_lineno=False, sort_output=True)
