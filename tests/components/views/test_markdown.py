"""What Markdown may become on the page, and that a growing answer ends as the whole one."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest

from components.views.markdown import escape_text, format_prose, format_tail, format_text, is_prose, render_markdown
from components.views.markdown_parser import MAX_TEXT_CELLS
from tests.hostile_texts import HOSTILE_TEXTS, Elements, check_harmless

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](vbscript:x)",
    "[a](//elsewhere.example/x)",
    "[a](/t/1)",
    "[a](file:///etc/passwd)",
    "<javascript:alert(1)>",
    "![a](https://elsewhere.example/x.png)",
    "![a][1]\n\n[1]: https://elsewhere.example/x.png",
    '[a](https://x.example "\\" onmouseover=alert(1) x=\\"")',
    '```"><script>alert(1)</script>\nx\n```',
    "```python\n</code></pre><script>alert(1)</script>\n```",
    "<svg/onload=alert(1)><iframe src=//x></iframe><style>*{}</style>",
]


COMPILED = """
from components.views.markdown_parser import choose_parser
parsers = [choose_parser(text) for text in ("plain", "$x$")]
rulers = [ruler for each in parsers for ruler in (each.core.ruler, each.block.ruler, each.inline.ruler, each.inline.ruler2)]
raise SystemExit(None in [each.__cache__ for each in rulers])
"""


def test_no_thread_finds_a_part_of_the_rules() -> None:
    """markdown-it compiles them in the first call: another thread's call beside it found "none of the block rules"."""
    assert subprocess.run([sys.executable, "-c", COMPILED], check=False).returncode == 0


def test_a_word_with_a_dot_is_no_prose() -> None:
    """It may be an address. Before 3.11.5, Python kept a part of a possessive group that had failed."""
    assert is_prose("See it. Then go on.")
    assert not is_prose("See www.example.com for more.")


@pytest.mark.parametrize("text", [*HOSTILE, *HOSTILE_TEXTS])
def test_nothing_runs_and_nothing_loads(text: str) -> None:
    check_harmless(render_markdown(text))
    check_harmless(format_tail(text, {}))


def test_raw_html_and_a_refused_link_stay_the_text_they_are() -> None:
    assert render_markdown("<b>x</b>") == "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"
    assert render_markdown("[a](javascript:x)") == "<p>[a](javascript:x)</p>\n"


def test_a_link_opens_elsewhere_and_tells_nothing_of_this_page() -> None:
    [_, (tag, attributes)] = Elements(render_markdown("[a](https://example.com/x)")).found
    assert (tag, attributes["target"]) == ("a", "_blank")
    assert attributes["rel"] == "noopener noreferrer nofollow"


def test_an_image_is_a_link_that_names_its_host() -> None:
    html = render_markdown("![A *cat*](https://example.com/x.png?q=1)")
    assert ">A cat (example.com)</a>" in html


def test_an_image_in_a_link_is_text_because_links_do_not_nest() -> None:
    html = render_markdown("[![cat](https://a.example/x.png)](https://b.example)")
    assert html.count("<a ") == 1
    assert ">cat (a.example)</a>" in html


def test_code_is_highlighted_by_class_and_names_its_language() -> None:
    html = render_markdown("```python title=x\ndef f(): pass\n```")
    assert html.startswith('<div class="code" data-language="python"><pre><code><span class="k">def</span>')
    assert html.endswith("</code></pre></div>\n")


def test_code_in_an_unknown_language_is_plain() -> None:
    assert render_markdown("```nosuch\na < b\n```") == (
        '<div class="code" data-language="nosuch"><pre><code>a &lt; b\n</code></pre></div>\n'
    )


def test_code_keeps_its_blank_lines() -> None:
    text = re.sub(r"<[^>]+>", "", render_markdown("```python\n\n\nx\n\n\n```"))
    assert text == "\n\nx\n\n\n\n"  # the last one ends the block


def test_tables_strikethrough_and_line_breaks_are_understood() -> None:
    assert '<td class="align-right">1</td>' in render_markdown("|a|b|\n|-:|-|\n|1|2|")
    assert "<s>gone</s>" in render_markdown("~~gone~~")
    assert "one<br>\ntwo" in render_markdown("one\ntwo")


def test_half_a_character_does_not_break_a_page() -> None:
    assert render_markdown("a \ud83d\ude00 \ud800 b") == "<p>a 😀 � b</p>\n"


def test_a_very_long_text_is_shown_as_it_is_and_quickly() -> None:
    started = time.process_time()
    html = render_markdown("<b>\n" * 5_000_000)
    assert html.startswith('<pre class="plain">&lt;b&gt;')
    assert time.process_time() - started < 3


def test_a_table_of_too_many_cells_is_shown_as_it_was_written() -> None:
    def write(columns: int, rows: int) -> str:
        return "|a" * columns + "|\n" + "|-" * columns + "|\n" + "|b\n" * rows

    html = render_markdown(f"{write(250, 150)}\n**after**")
    assert html.startswith(f'<div class="code" data-language=""><pre><code>{write(250, 150)}</code></pre></div>')
    assert "<strong>after</strong>" in html
    assert [html.count(tag) for html in [render_markdown(write(100, 48))] for tag in ("<th>", "<td>", "<pre>")] == [
        100,
        4_800,
        0,
    ]
    assert render_markdown("> " + write(6_000, 1).replace("\n", "\n> ")).count("<pre>") == 1


def test_the_tables_of_a_text_share_a_limit_of_cells() -> None:
    table = "|a" * 100 + "|\n" + "|-" * 100 + "|\n" + "|b\n" * 10 + "\n"
    html = render_markdown(table * 12)
    assert 8_000 < html.count("<td>") + html.count("<th>") <= MAX_TEXT_CELLS
    assert html.count("<table>") + html.count("<pre>") == 12
    assert render_markdown(table).count("<td>") == 1_000


def test_tables_that_are_given_up_count_as_well() -> None:
    large, small = "|a" * 100 + "|\n" + "|-" * 100 + "|\n" + "|b\n" * 60 + "\n", "|a|\n|-|\n|b|\n\n"
    assert [render_markdown(large * count + small).count("<table>") for count in (0, 1, 3)] == [1, 1, 0]


def test_images_are_rendered_in_linear_time() -> None:
    started = time.thread_time()
    assert render_markdown("![a](http://b/c)" * 4_000).count("a (b)") == 4_000
    assert time.thread_time() - started < 3  # 0.3 s; where each counted the links before it: 14 s


def test_tasks_have_boxes_that_say_their_state() -> None:
    html = render_markdown("- [ ] *write*\n- [x] test\n- [z] [ ] x\n\n1. [X] ship\n\n   more\n\n[ ] no item")
    boxes = [attributes for tag, attributes in Elements(html).found if tag == "input"]
    assert [(box["aria-label"], "checked" in box) for box in boxes] == [("To do", False), ("Done", True), ("Done", True)]
    assert all(box["type"] == "checkbox" and "disabled" in box for box in boxes)
    assert "[z] [ ] x" in html
    assert "<p>[ ] no item</p>" in html


def test_footnotes_stand_below_the_text_in_the_order_of_their_marks() -> None:
    html = render_markdown(
        "One[^b], two[^a], one again[^b].\n\n[^a]: *A*\n[^c]: Never named\n[^b]: B\n\n    more of B\n\nEnd.[^none]"
    )
    assert re.findall(r'<sup data-footnote="(\d)">(\d)</sup>', html) == [("1", "1"), ("2", "2"), ("1", "1")]
    notes = re.findall(r'<li data-footnote="(\d)">(.*?)</li>', html.partition('<ol class="footnotes">')[2], re.DOTALL)
    assert [(number, re.sub("<[^>]+>|\\s+", "", text)) for number, text in notes] == [
        ("1", "BmoreofB"),
        ("2", "A"),
        ("3", "Nevernamed"),
    ]
    assert "<p>End.[^none]</p>" in html


def test_a_streamed_part_has_no_footnotes_because_they_would_jump() -> None:
    assert format_text("a[^1]\n\n[^1]: two words", {}) == "<p>a[^1]</p>\n<p>[^1]: two words</p>\n"


ARABIC, HEBREW = "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643", "\u05e9\u05dc\u05d5\u05dd \u05dc\u05da"


@pytest.mark.parametrize(
    ("text", "directions"),
    [
        (f"Hello\n\n# {HEBREW}\n\nHéllo, 世界", ["h2 rtl"]),
        (f"TensorFlow {ARABIC}", ["p rtl"]),
        (f"React Native `a long piece of code` {HEBREW}", ["p rtl"]),
        (f"See https://example.com/one/ and {ARABIC}", ["p rtl"]),
        (f"The word {HEBREW} means peace to you", ["p ltr"]),
        (f"{HEBREW} means peace to all of you", ["p ltr"]),
        (f"{HEBREW[:4]} React Native?", ["p rtl"]),
        (f"- API: {ARABIC}\n- SQL\n  - Keras", ["ul rtl"]),
        (f"1. API {ARABIC}\n\n2. {HEBREW}", ["ol rtl", "p rtl", "p rtl"]),
        (f"> Python {HEBREW}\n>\n> English", ["blockquote rtl", "p rtl", "p ltr"]),
        (f"|A|{HEBREW}|\n|-|-|\n|1|{ARABIC}|", ["table rtl"]),
        (f"{ARABIC}[^1]\n\n[^1]: API {ARABIC}", ["p rtl", "ol rtl", "p rtl"]),
    ],
)
def test_a_block_has_the_direction_of_its_words_and_not_of_the_first(text: str, directions: list[str]) -> None:
    html = render_markdown(text)
    assert [" ".join(found) for found in re.findall(r'<(\w+)[^>]* dir="(\w+)"', html)] == directions


def test_a_line_that_is_no_markdown_has_its_direction_too() -> None:
    line = f"API {ARABIC}"
    assert escape_text(f"{line}\n\nHello <b>") == f'<div dir="rtl">{line}</div><div><br></div><div>Hello &lt;b&gt;</div>'
    assert escape_text("Hello\nthere") == "Hello<br>there"
    assert format_prose(line) == render_markdown(line)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**“重点”**内容", "<strong>“重点”</strong>内容"),
        ("这是**“重点”**内容", "这是<strong>“重点”</strong>内容"),
        ("これは**「重要」**です。", "これは<strong>「重要」</strong>です。"),
        ("**第一条（总则）**本法", "<strong>第一条（总则）</strong>本法"),
        ("한국어*(강조)*입니다", "한국어<em>(강조)</em>입니다"),
        ("葛\U000e0100**(a)**字", "葛\U000e0100<strong>(a)</strong>字"),
        ("已~~（旧）~~改", "已<s>（旧）</s>改"),
        ("**`main()`**を呼ぶ", "<strong><code>main()</code></strong>を呼ぶ"),
        ("变量_名_字", "变量_名_字"),
        ("a*“b”*c", "a*“b”*c"),
        ("a**✅**b", "a**✅**b"),
    ],
)
def test_emphasis_needs_no_space_beside_chinese_japanese_and_korean(text: str, html: str) -> None:
    assert render_markdown(text) == f"<p>{html}</p>\n"


def test_a_long_cell_is_not_crushed() -> None:
    html = render_markdown(f"|a|b|\n|-|-:|\n|short|{'word ' * 10}|")
    assert "<td>short</td>" in html
    assert '<td class="align-right long-cell">word' in html


def test_a_diagram_stays_readable_and_says_its_language() -> None:
    assert render_markdown("```mermaid\ngraph TD\n```").startswith(
        '<div class="code" data-language="mermaid"><pre><code>graph TD'
    )


def test_the_first_level_of_headings_is_left_to_the_page() -> None:
    assert render_markdown("# One\n\nTwo\n---\n\n###### Six") == "<h2>One</h2>\n<h3>Two</h3>\n<h6>Six</h6>\n"
