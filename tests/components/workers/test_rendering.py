"""A text that takes long is formatted in a process that is let go of in time, and shown as it was written if need be."""

import asyncio
import itertools
import json
import logging
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pygments.lexers import get_all_lexers

from app import create_app
from application.settings import Settings
from components.comparing import compare_places
from components.views import markdown
from components.views.markdown import is_cheap, render_markdown, to_plain_html
from components.views.word_differences import mark_cheap_differences, mark_differences
from components.workers import rendering
from components.workers.rendering import Renderer
from tests.checkpoints.conversations import talked
from tests.rounds import Rounds, given_examples
from tests.running_app import request_panels
from words import set_language

ROOT = Path(__file__).parents[3]
ORIGIN = "http://127.0.0.1:8050"
HANGS = (sys.executable, "-c", "import time; time.sleep(600)")
ENDS = (sys.executable, "-c", "raise SystemExit(3)")

SLOW_CODE = {
    "c": "$" + "\t " * 9_000,
    "csharp": "a\n" * 9_000,
    "cpp": "\n" * 19_000,
}
SLOW_MARKDOWN = {
    "brackets": "[" * 20_000,
    "images": "![" * 10_000,
    "links": "[a](" * 5_000,
    "headings": "# a\n" * 5_000,
    "lists": "- a\n" * 5_000,
    "quotes": "> a\n" * 5_000,
    "deep quotes": ">" * 20_000,
    "emphasis": "*a **b _c " * 2_000,
    "tables": "|a|b|\n|-|-|\n" + "|x|y|\n" * 3_000,
    "dollars": "$a" * 5_000,
    "pairs of dollars": "$$a" * 5_000,
    "formulas": "$x^2$ " * 3_000,
    "open brackets of formulas": "\\(" * 10_000,
    "open blocks of formulas": "$$a\n# b\n" * 2_000,
    "open environments": "\\begin{align}\n# b\n" * 2_000,
    "deep formulas": "$" + "{" * 20_000 + "}" * 20_000 + "$",
    "deep commands": "$$\n" + "\\hat" * 40_000 + "x\n$$",
    "macros": "$\\def\\a{\\a\\a}\\a$ " * 1_000,
    "spaces in a formula": "\\(" + " " * 20_000,
    "a table that fills itself": "|a" * 250 + "|\n" + "|-" * 250 + "|\n" + "a\n" * 450,
}
TOO_LONG = "[" * 200_000
MAX_CHEAP_HTML_CHARS = 250_000


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    renderer = Renderer()
    yield renderer
    renderer.close()


def fenced(language: str, code: str) -> str:
    return f"````{language}\n{code}\n````"


def worker_ids(renderer: Renderer) -> list[int]:
    return [worker._process.pid for worker in (*renderer._workers._idle, *renderer._workers._busy)]


@pytest.mark.parametrize("text", [*map(fenced, SLOW_CODE, SLOW_CODE.values()), *SLOW_MARKDOWN.values()])
def test_a_text_that_is_dear_is_not_formatted_by_the_server(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_cheap(text)
    monkeypatch.setattr(rendering, "render_markdown", None)
    renderer = Renderer(ENDS)
    assert renderer.page()(text) == to_plain_html(text)
    renderer.close()


@pytest.mark.parametrize("language", SLOW_CODE)
def test_code_that_takes_too_long_loses_its_colours_and_nothing_else(renderer: Renderer, language: str) -> None:
    before, after = "**before**\n\n```python\nx = 1\n```\n\n", "\n\n**after**"
    html = renderer.page()(before + fenced(language, SLOW_CODE[language]) + after)
    assert 'class="mi"' in html
    assert "<strong>after</strong>" in html
    assert f'data-language="{language}"><pre><code>{SLOW_CODE[language][:100]}' in html


def test_a_text_that_takes_too_long_is_shown_as_it_was_written_and_not_tried_again(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert renderer.page()(TOO_LONG) == to_plain_html(TOO_LONG)
    assert worker_ids(renderer) == []
    assert "<table>" in renderer.page()("|a|\n|-|\n|b|")
    monkeypatch.setattr(renderer, "_workers", None)
    assert renderer.page()(TOO_LONG) == to_plain_html(TOO_LONG)
    monkeypatch.undo()


def test_html_that_is_too_large_is_refused(renderer: Renderer) -> None:
    text = f"[a]: https://example.com/{'x' * 2_000}\n\n" + "[a]" * 4_000
    assert renderer.page()(text) == to_plain_html(text)


def test_html_that_is_too_large_ends_no_process(renderer: Renderer) -> None:
    """With definitions for the finished blocks, the answer of a look is larger than each HTML."""
    found = asyncio.run(renderer.look("漢" * 19_000 + "|\n\n" + "字" * 190_000, {}))
    assert found is None
    assert len(worker_ids(renderer)) == 1


def test_a_process_that_never_answers_is_let_go_of(caplog: pytest.LogCaptureFixture) -> None:
    renderer = Renderer(HANGS, max_wait_seconds=0.05)
    assert renderer.page()("a|b\n<c>") == '<pre class="plain">a|b\n&lt;c&gt;</pre>\n'
    assert asyncio.run(renderer.look("a|b", {})) is None
    renderer.close()
    assert worker_ids(renderer) == []


def test_closing_ends_a_process_that_is_at_work() -> None:
    async def story() -> None:
        renderer = Renderer(HANGS)
        looking = asyncio.create_task(renderer.look("a|b", {}))
        while not worker_ids(renderer):  # noqa: ASYNC110  (a thread starts it)
            await asyncio.sleep(0.005)
        renderer.close()
        assert await looking is None
        assert renderer.page()("a|b") == to_plain_html("a|b")

    asyncio.run(story())


def test_a_process_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    renderer = Renderer(ENDS)
    with caplog.at_level(logging.WARNING):
        renderer.page()("a|b")
    renderer.close()
    assert "a process that formats texts ended with 3" in caplog.text


def test_a_process_that_was_ended_from_outside_is_replaced(renderer: Renderer) -> None:
    renderer.page()("|a|\n|-|")
    [worker] = renderer._workers._idle
    os.kill(worker._process.pid, signal.SIGKILL)
    worker._process.wait()
    assert "<table>" in renderer.page()("|b|\n|-|")


def test_cheap_texts_start_no_process() -> None:
    renderer = Renderer()
    assert renderer.page()("A **b** [c](https://example.com).\n\n- d") == render_markdown(
        "A **b** [c](https://example.com).\n\n- d"
    )
    assert worker_ids(renderer) == []


def test_the_messages_of_a_page_share_one_budget(renderer: Renderer) -> None:
    to_html_in_time = renderer.page()
    assert to_html_in_time(TOO_LONG) == to_plain_html(TOO_LONG)
    assert to_html_in_time("|a|\n|-|") == to_plain_html("|a|\n|-|")
    assert "<strong>" in to_html_in_time("**cheap**")
    assert "<table>" in renderer.page()("|a|\n|-|")


def test_a_look_is_that_of_the_text(renderer: Renderer) -> None:
    text = "[a]: https://example.com\n\n|a|\n|-|\n\n```python\nx = 1\n"
    found = asyncio.run(renderer.look(text, {}))
    here = markdown.look_at(text, {}, markdown.highlight_code, markdown.highlight_code)
    assert found is not None
    assert found[0] == here


def test_every_view_formats_code_and_the_app_ends_the_process_that_does(tmp_path: Path) -> None:
    async def story() -> None:
        app = create_app(Settings(data_dir=tmp_path / "data", model="demo", auth="none"), port=8050)
        thread_id = talked(app.services.store, "Hello.", "Hello.", "Show me.", "```python\nx = 1\n```")
        checkpoint = app.services.store.list_checkpoints(thread_id)[0].id
        headers, services = {"origin": ORIGIN}, app.services
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app.asgi), base_url=ORIGIN, headers=headers) as browser:
            answers = [await request_panels(browser, f"/t/{thread_id}")]
            answers += [await browser.get(f"/api/threads/{thread_id}/agents/main")]
            for answer in answers:
                assert "data-language" in answer.text, answer.url
                assert 'class=\\"mi\\"' in answer.text, answer.url
        rendered: Any = {"prices": None, "to_html": services.renderer.page(), "mark": services.renderer.comparison()}
        places = (f"checkpoint:{checkpoint}", "")
        compared = await services.run_blocking(
            partial(compare_places, services.store, services.runs, thread_id, *places, **rendered)
        )
        assert 'class="mi"' in str(compared)
        [worker] = app.services.renderer._workers._idle
        await app.close()
        assert not worker.is_alive

    asyncio.run(story())


@pytest.mark.parametrize("end", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_the_process_ends_with_the_server_and_says_nothing(end: signal.Signals) -> None:
    """SIGINT goes to the whole group, as Ctrl+C in a terminal does."""
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
        "from components.workers.rendering import Renderer; renderer = Renderer(); renderer.page()('|a|\\n|-|')\n"
        "print(renderer._workers._idle[0]._process.pid, flush=True)\n"
        "signal.pause()"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, start_new_session=True, **pipes) as server:  # type: ignore[call-overload]
        worker = int(server.stdout.readline())
        os.killpg(server.pid, end)
        assert server.communicate(timeout=60) == ("", "")
    wait_until_gone(worker)


def wait_until_gone(pid: int) -> None:
    """It ends by itself, and whoever is the parent of orphans may not have buried it yet."""
    for _ in range(3_000):
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
        if state.strip() in ("", "Z", "Zs"):
            return
    raise AssertionError("the process lives on")


def count_calls(work: Callable[[], object]) -> int:
    """Count the calls of functions that `work` makes: it says how much was done, however busy the machine is."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@contextmanager
def record_rendered() -> Iterator[list[int]]:
    """Record the characters of all HTML that is built, before it is clean."""
    found, render = list[int](), MarkdownIt.render

    def render_and_record(*arguments: Any, **named: Any) -> Any:
        html = render(*arguments, **named)
        found.append(len(html))
        return html

    with patch.object(MarkdownIt, "render", render_and_record):
        yield found


PIECES = st.sampled_from(
    [
        *"[]()!*_`<>&\\\n#+-~=: 1.a:;\t",
        "[a](",
        "![",
        "- ",
        "> ",
        "**",
        "# ",
        "    ",
        "1. ",
        "[a]: b\n",
        "<a@b.c>",
        "[^a]",
        "[^a]: b\n",
        "[a]: ",
        "[a]",
        "![a]",
        "[^a]: ",
        "- [ ] ",
        "$",
    ]
)
FORMULA_PIECES = ["$$", "$$\n", "\\(", "\\)", "\\[", "\\]", "\\begin{align}", "\\end{align}", "\\frac{", "^", "{", "}", "&"]
CHEAP = st.builds(
    lambda pieces, chars: ("".join(pieces) * chars)[:chars], st.lists(PIECES, min_size=1, max_size=4), st.integers(1, 4_000)
)


LONG_LINK = {"href": "https://example.com/" + "x" * 150_000, "title": "y" * 150_000}
DEFINED = st.sampled_from([{}, {"A": LONG_LINK}])


@settings(max_examples=20)  # the slowest known take 370,000 calls and 15 ms
@given(CHEAP.filter(is_cheap), DEFINED)
@example("[a]" * 240, {"A": LONG_LINK})
@example("![a]" * 120, {"A": LONG_LINK})
def test_a_cheap_text_is_cheap_whatever_is_defined(text: str, definitions: markdown.Definitions) -> None:
    looks: list[str] = []

    def look() -> None:
        looks.append(render_markdown(text))
        looks.append(markdown.cut_finished(text, dict(definitions))[0])
        looks.append(markdown.format_tail(text, definitions))

    assert count_calls(look) < 750_000
    assert max(map(len, looks)) < MAX_CHEAP_HTML_CHARS


REFERENCES = ["[a]", "![a]", "[b][a]", "[![b][a]][a]", "[^a]", "[a] [^b]"]
LONG_TEXTS = ["https://example.com/", "🙂", '"', "&", "<https://b/", "http://é/"]


@given_examples(
    8, 300, st.sampled_from(REFERENCES), st.sampled_from(LONG_TEXTS), st.integers(1, 20_000), st.integers(1, 20_000)
)
def test_a_short_text_does_not_repeat_a_long_one(reference: str, piece: str, chars: int, count: int) -> None:
    """A definition and a footnote of so many characters are named so often, in one text and in one that streams."""
    long = (piece * chars)[:chars]
    defined = f"[a]: https://b/{long} '{long}'\n\n[^a]: {long}\n\n[^b]: [a]\n\n"
    text = (reference * count)[:40_000]
    with record_rendered() as rendered:
        found = [render_markdown(defined + text)]
        look = markdown.look_at(defined + text, {}, markdown.highlight_code, markdown.highlight_code)
    limit = 2 * markdown.MAX_HTML_BYTES + 20 * len(defined)  # some characters are written as many, once
    assert max(rendered, default=0) <= limit  # of what is built, also where it is refused then
    assert all(len(each) <= limit for each in (*found, look.finished, look.tail))
    assert len(json.dumps(look.definitions)) <= markdown.MAX_DEFINITION_CHARS * 2


LANGUAGES = sorted({names[0] for _, names, _, _ in get_all_lexers() if names})
CODE_PIECES = [
    *" \n\t([{</\\\"'#%&*-:@`|~0a_=",
    *("a\n", "\t ", " \n", "a ", "a.", "a(", "::", "//", "/*", "<!--", '"""', "{{", "${", "'\\"),
]


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_no_language_keeps_the_process_longer_than_its_colours_may(renderer: Renderer, rounds: Rounds, part: int) -> None:
    codes = list(itertools.product(LANGUAGES, ("", "$"), CODE_PIECES))
    random.Random(1).shuffle(codes)
    mine = codes[part::8]
    for language, start, piece in mine[: rounds(len(mine))]:
        code = fenced(language, (start + piece * 5_000)[:10_000])
        tries = (
            renderer.page()(code + "\n" * n) for n in range(3)
        )  # a busy machine doubles a processor's seconds; growth stays
        assert any(html.startswith('<div class="code"') for html in tries), (language, start, piece)


@pytest.mark.long
@given(
    st.lists(PIECES | st.sampled_from(["|", "```", "~~~", "|-", *FORMULA_PIECES]), min_size=1, max_size=4),
    st.integers(1_000, 100_000),
)
def test_no_markdown_outlives_its_budget(pieces: list[str], chars: int) -> None:
    renderer = Renderer()
    text = ("".join(pieces) * chars)[:chars]
    html = renderer.page()(text)
    renderer.close()
    assert html == to_plain_html(text) or "<pre class" not in html


def make_dear_texts() -> list[str]:
    halves = ([f"w{n // 2 if n % 2 == side else n + 10_000 * (side + 1)}" for n in range(800)] for side in (0, 1))
    return [" ".join(["the same begin", *half]) for half in halves]


def test_dear_comparisons_are_made_in_another_process(renderer: Renderer) -> None:
    texts = make_dear_texts()
    assert mark_cheap_differences(*texts).kind == "long"
    assert renderer.comparison()(*texts) == mark_differences(*texts)
    assert len(worker_ids(renderer)) == 1


def test_a_comparison_without_an_answer_is_left_out() -> None:
    renderer = Renderer(HANGS, max_wait_seconds=0.05)
    assert renderer.comparison()(*make_dear_texts()).kind == "long"
    renderer.close()


def test_a_text_is_formatted_in_each_language_once(renderer: Renderer) -> None:
    texts = ("- [ ] a", "- [ ] a\n\n```python\n" + "x = 1\n" * 2000 + "```")
    assert [is_cheap(text) for text in texts] == [True, False]
    try:
        for text in texts:
            assert 'aria-label="To do"' in renderer.page()(text)
            set_language("de")
            assert 'aria-label="Zu erledigen"' in renderer.page()(text)
            set_language("en")
            assert 'aria-label="To do"' in renderer.page()(text)
    finally:
        set_language("en")
