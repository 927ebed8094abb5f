"""TeX formulas as MathML, which browsers draw themselves. An unreadable formula stays text.

The output has no inline styles: math-core's styles become classes, and `formula.css` defines those.
"""

import re
import unicodedata

from math_core import LatexError, LatexToMathML

MAX_FORMULA_CHARS = 5_000
# math-core and nh3 recurse: twice as many levels of "\hat{" end the process.
MAX_FORMULA_BRACES = 1_000

# After each unclosed bracket, math-core reads the rest of a formula twice: 24 take seconds.
MAX_UNCLOSED_BRACKETS = 12

_CONVERTER = LatexToMathML(fancy_error=False, allow_unreliable_rendering=True)
# A formula may not define commands: a definition would hold for one formula only, and its expansion multiplies the
# output.
_DEFINITION = re.compile(r"\\(?:[a-z]*def|let|[a-z]*newcommand|providecommand|Declare[A-Za-z]*)(?![A-Za-z])")
# math-core lacks these environments, or would number every formula of a text as (1).
_ENVIRONMENT = re.compile(r"\\(begin|end)\{(split|alignat|flalign|eqnarray|align|gather|equation|multline)\*?\}")
_ALIGNAT_COLUMNS = re.compile(r"(?<=\\begin\{alignat\})\{\d{1,2}\}|(?<=\\begin\{alignat\*\})\{\d{1,2}\}")
_KNOWN_ENVIRONMENTS = {"split": "aligned", "alignat": "align*", "flalign": "align*", "eqnarray": "align*"}
# Sized delimiters do not pair with plain brackets.
_SIZED = r"\\(?:left|right|middle|[bB]igg?[lrm]?)\s*(?:\\[A-Za-z]+|\\?[^\w\s])"
_TOKEN = re.compile(rf"{_SIZED}|\\[A-Za-z]+|\\.|[^\w\s]", re.DOTALL)
_SIZED_OPENER = re.compile(r"\\[bB]igg?l")
_PAIRED = (
    "angle",
    "ang",
    "vert",
    "Vert",
    "floor",
    "ceil",
    "brace",
    "brack",
    "Brack",
    "paren",
    "group",
    "moustache",
    "lbracket",
)
_CLOSERS = {
    **{"(": ")", "[": "]", "\\{": "\\}", "\\ulcorner": "\\urcorner", "\\llcorner": "\\lrcorner"},
    **{f"\\l{name}": f"\\r{name.replace('lbracket', 'rbracket')}" for name in _PAIRED},
}
_STYLE = re.compile(r' style="([^"]*)"')
_STYLE_CLASSES = {
    "text-align:left": "math-left",
    "text-align:right": "math-right",
    "padding-left:0": "math-joins-left",
    "padding-right:0": "math-joins-right",
    "padding-left:1em": "math-indent",
    "width:100%": "math-wide",
    "width:50%": "math-half",
    **{
        f"border-{side}:0.05em {line} currentcolor": f"math-{line}-{side}"
        for side in ("left", "right", "top")
        for line in ("solid", "dashed")
    },
}
STYLE_CLASSES = frozenset(_STYLE_CLASSES.values())


def to_mathml(source: str, *, is_display: bool) -> str | None:
    """Return the MathML of a formula; None if math-core cannot interpret it."""
    if len(source) > MAX_FORMULA_CHARS or source.count("{") > MAX_FORMULA_BRACES or _DEFINITION.search(source):
        return None
    if _count_unclosed_brackets(source) > MAX_UNCLOSED_BRACKETS:
        return None
    if "\\tag" not in source:
        source = _ENVIRONMENT.sub(_choose_environment, _ALIGNAT_COLUMNS.sub("", source))
    try:
        mathml = _CONVERTER.convert_with_local_state(source, displaystyle=is_display)
    except LatexError:
        return None
    return _STYLE.sub(_name_styles, mathml)


def _count_unclosed_brackets(source: str) -> int:
    """Count the brackets not closed in the same group and cell."""
    # Each open group still expects these closing brackets.
    groups: list[list[str]] = [[]]
    unclosed = 0
    for mark in _TOKEN.findall(source):
        if mark == "{":
            groups.append([])
        elif mark in ("}", "&", "\\\\"):
            unclosed += len(groups.pop())
            if mark != "}" or not groups:
                groups.append([])
        elif _SIZED_OPENER.match(mark):
            unclosed += 1
        elif mark in _CLOSERS or unicodedata.category(mark[0]) == "Ps":
            groups[-1].append(_CLOSERS.get(mark, ""))
        elif groups[-1] and groups[-1][-1] == mark:
            groups[-1].pop()
    return unclosed + sum(map(len, groups))


def _choose_environment(match: re.Match[str]) -> str:
    return f"\\{match[1]}{{{_KNOWN_ENVIRONMENTS.get(match[2], match[2] + '*')}}}"


def _name_styles(match: re.Match[str]) -> str:
    declarations = (declaration.replace(": ", ":").strip() for declaration in match[1].split(";"))
    classes = [_STYLE_CLASSES[declaration] for declaration in declarations if declaration in _STYLE_CLASSES]
    return f' class="{" ".join(classes)}"' if classes else ""
