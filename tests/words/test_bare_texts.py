"""No text that the browser's modules show is outside the catalogue. No module is run."""

import re
from collections.abc import Iterator

import pytest

from words.extraction import ROOT

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)
    |(?P<pattern>(?<=[(,=:!&|?\[])\s*/(?![/*])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/)
    |(?P<open>(?P<callee>[\w.$]*)[(\[{])
    |(?P<close>[)\]}])
    |(?P<comma>,)""",
    re.VERBOSE | re.DOTALL,
)
PROPERTY = re.compile(r"""(?:\b(?:title|placeholder|label|alt)|"aria-label"):\s*$""")
COMPARED_BEFORE = re.compile(r"[=!]==\s*$")
WORD = re.compile(r"[^\W\d_]{2}")


def find_bare_texts(code: str) -> Iterator[str]:
    """Yield each literal with a word that is a child of an element, or a property that people read."""
    callers: list[tuple[str, int]] = []  # what is open, with the commas seen in it
    for token in TOKEN.finditer(code):
        if token["open"]:
            callers.append((token["open"], 0))
        elif token["close"] and callers:
            callers.pop()
        elif token["comma"] and callers:
            callers[-1] = callers[-1][0], callers[-1][1] + 1
        elif token["text"] and _is_shown(code, token, callers) and WORD.search(re.sub(r"\$\{[^}]*\}", "", token["text"])):
            yield token["text"]


def _is_shown(code: str, token: re.Match[str], callers: list[tuple[str, int]]) -> bool:
    before = code[: token.start()]
    if COMPARED_BEFORE.search(before[-20:]) or re.match(r"\s*[=!]==", code[token.end() : token.end() + 10]):
        return False
    if PROPERTY.search(before[-40:]):
        return True
    elements = [caller for caller in callers if caller[0] not in {"(", "["}]
    return bool(elements) and elements[-1] == callers[-1 - _count_grouping(callers)] and _takes_children(elements[-1])


def _count_grouping(callers: list[tuple[str, int]]) -> int:
    opened = [opener for opener, _ in reversed(callers)]
    return next((number for number, opener in enumerate(opened) if opener not in {"(", "["}), 0)


def _takes_children(caller: tuple[str, int]) -> bool:
    return caller[0] == "h(" and caller[1] >= 2


@pytest.mark.parametrize(
    ("code", "bare"),
    [
        ('h("p", null, "Done")', ['"Done"']),
        ('h("p", null, isOpen && (count === 1 ? "1 message" : _("Other")))', ['"1 message"']),
        ('h("p", { title: "Close" })', ['"Close"']),
        ("h('p', null, `${count} messages`)", ["`${count} messages`"]),
        ('h("p", { className: "quiet" }, _("Done"), " · ", kind === "move" && formatCount(1, "message"))', []),
        ('h("p", null, ROLES["admin"], /* "Done" */ h("br"))', []),
    ],
)
def test_a_bare_text_is_found(code: str, bare: list[str]) -> None:
    assert list(find_bare_texts(code)) == bare


def test_every_text_of_an_element_is_in_the_catalogue() -> None:
    modules = [*(ROOT / "assets" / "modules").rglob("*.mjs"), ROOT / "assets" / "waymark.mjs"]
    found = {path.name: list(find_bare_texts(path.read_text())) for path in modules}
    assert {name: texts for name, texts in found.items() if texts} == {}
