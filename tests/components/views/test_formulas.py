"""Formulas become MathML in every notation, money stays money, and what cannot be read stays as it was written."""

import re

import pytest

from components.views.formulas import MAX_FORMULA_BRACES, MAX_FORMULA_CHARS, MAX_UNCLOSED_BRACKETS, to_mathml
from components.views.markdown import format_tail, render_markdown
from tests.hostile_texts import COMMANDS, check_harmless

FRACTION = "<mfrac><mi>a</mi><mi>b</mi></mfrac>"


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        (r"so $\frac{a}{b}$.", r"$\frac{a}{b}$"),
        (r"so \(\frac{a}{b}\).", r"\(\frac{a}{b}\)"),
        (r"so $$\frac{a}{b}$$.", r"$$\frac{a}{b}$$"),
        (r"so \[ \frac{a}{b} \].", r"\[\frac{a}{b}\]"),
        ("so\n$$\n\\frac{a}{b}\n$$\ngoes on", r"$$\frac{a}{b}$$"),
        ("so\n\\[\n\\frac{a}{b}\n\\]\ngoes on", r"\[\frac{a}{b}\]"),
        ("1. so\n\n   \\[\n   \\frac{a}{b}\n   \\]", r"\[\frac{a}{b}\]"),
        ("> $$\n> \\frac{a}{b}\n> $$", r"$$\frac{a}{b}$$"),
        ("\\begin{gather}\n\\frac{a}{b}\n\\end{gather}", "\\begin{gather}\n\\frac{a}{b}\n\\end{gather}"),
        (r"|x|" + "\n|-|\n" + r"|$\frac{a}{b}$|", r"$\frac{a}{b}$"),
    ],
)
def test_a_formula_is_drawn_and_keeps_its_tex(text: str, tex: str) -> None:
    html = render_markdown(text)
    assert FRACTION in html
    assert f'data-tex="{tex}"' in html
    assert ("display" in html) == (tex[:2] not in ("$\\", "\\("))


def test_a_line_of_a_formula_is_no_list_and_no_heading() -> None:
    html = render_markdown("It is\n\\[\nx\n- y\n= z\n# 1\n\\]\nas said.")
    assert re.sub("<[^>]+>", "", html).split() == ["It", "is", r"\[x", "-", "y", "=", "z", "#", "1\\]", "as", "said."]
    assert not re.search("<(li|h1)", html)


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "It costs $5, or $10.",
        "From $20-$30, US$5 to A$7.",
        "$ a $",
        r"\$a\$",
        "`$a$`",
        "$HOME and $PATH",
        "$$ alone",
        r"\[ \] and \[a\](https://example.com)",
        "```sh\necho $a $b$c\n```",
        "    $$\n    code\n    $$",
        "$$\na\n\nb\n$$",
    ],
)
def test_money_and_code_are_no_formulas(text: str) -> None:
    assert "math" not in render_markdown(text)


@pytest.mark.parametrize("tex", [r"\nosuch{x}", r"\frac{a}", "{" * 40, r"\def\a{x}\a", r"\newcommand{\a}{x}\a"])
def test_a_formula_that_cannot_be_read_is_shown_as_it_was_written(tex: str) -> None:
    assert f"<code>${tex}$</code>" in render_markdown(f"so ${tex}$ it is")
    assert f'data-language="latex"><pre><code>$${tex}$$</code>' in render_markdown(f"$$\n{tex}\n$$")


@pytest.mark.parametrize("tex", ["x" * (MAX_FORMULA_CHARS + 1), r"\hat{" * (MAX_FORMULA_BRACES + 1), "{" * 4_000])
def test_a_formula_has_limits_because_deep_ones_end_the_process(tex: str) -> None:
    assert to_mathml(tex, is_display=True) is None


@pytest.mark.parametrize("tex", [r"\hat{" * 1_000 + "}" * 900, r"\sqrt" * 1_000 + "x", r"\left(" * 800, r"\frac" * 900])
def test_the_deepest_formula_within_the_limits_ends_no_process(tex: str) -> None:
    to_mathml(tex, is_display=True)


def test_environments_have_no_numbers_of_their_own() -> None:
    for name in ("align", "gather", "equation", "flalign", "alignat", "eqnarray"):
        columns = "{2}" if name == "alignat" else ""
        mathml = to_mathml(rf"\begin{{{name}}}{columns}a\end{{{name}}}", is_display=True)
        assert mathml
        assert "(1)" not in mathml
    assert "(7)" in (to_mathml(r"\begin{align}a\tag{7}\end{align}", is_display=True) or "")


@pytest.mark.parametrize(
    "tex", [*COMMANDS, r"\begin{align}a&=b\end{align}", r"\begin{array}{c|c}1&2\\\hline 3&4\end{array}"]
)
def test_mathml_has_no_styles_links_or_ids(tex: str) -> None:
    check_harmless(render_markdown(f"${tex}$"))


def test_a_growing_formula_stays_text_until_it_is_closed() -> None:
    assert format_tail("so\n$$\na_1 *b* c_2\n- d", {}) == "<p>so</p>\n<p>$$<br>\na_1 *b* c_2<br>\n- d</p>\n"
    assert format_tail(r"so \(a_1 *b* c_2", {}) == "<p>so \\(a_1 *b* c_2</p>\n"
    assert "<math" in format_tail(r"so \(a_1 *b* c_2\)", {})


@pytest.mark.parametrize(
    "opener", ["(", "[", r"\{", r"\langle", r"\lvert", r"\lbrace", r"\llbracket", r"\ulcorner", r"\bigl(", "⟨", r"{(}", "(&"]
)
def test_a_formula_of_brackets_that_are_never_closed_stays_text(opener: str) -> None:
    assert to_mathml(opener * (MAX_UNCLOSED_BRACKETS + 1), is_display=True) is None


def test_closed_brackets_are_no_limit() -> None:
    terms = r"f(x) + \left[ a \right) + \{ b \} + \Big( c \Big) + \langle d \rangle + "
    assert to_mathml(terms * 2 * MAX_UNCLOSED_BRACKETS + "1", is_display=True) is not None
