"""What Markdown may become on the page, and that a growing answer ends as the whole one."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest

from components.views.markdown import MAX_TEXT_CELLS, render_markdown

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
LOADING = {"img", "script", "iframe", "svg", "style", "link", "object", "embed", "video", "audio", "form", "base", "meta"}


class Elements(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_runs_and_nothing_loads(text: str) -> None:
    for tag, attributes in Elements(render_markdown(text)).found:
        assert tag not in LOADING
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "style", "srcset"}]
        assert re.match(r"(https?|mailto):", attributes.get("href") or "https:")


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
    assert render_markdown("![a](http://b/c)" * 8_000).count("a (b)") == 8_000
    assert time.thread_time() - started < 3  # 0.3 s; where each counted the links before it: 14 s
