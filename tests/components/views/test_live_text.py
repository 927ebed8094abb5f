"""A growing answer ends as the whole one, however it arrives, and is looked at elsewhere where it may be dear."""

import asyncio

from hypothesis import assume, given
from hypothesis import strategies as st

from components.views.live_text import StreamingMarkdown
from components.views.markdown import Definitions, Look, highlight_code, look_at, render_markdown, to_plain_html
from tests.rounds import given_examples


async def look_here(text: str, definitions: Definitions) -> tuple[Look, float]:
    """The worker's look, in this process."""
    return look_at(text, definitions, highlight_code, highlight_code), 0.0


class GivesUp:
    """A renderer to which every text takes too long."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    async def __call__(self, text: str, definitions: Definitions) -> tuple[Look, float] | None:
        self.lengths.append(len(text))
        return None


def take(stream: StreamingMarkdown) -> tuple[str, str]:
    return asyncio.run(stream.take())


BLOCKS = st.sampled_from(
    [
        "A paragraph with **bold**, `code` and a [link](https://example.com).",
        "Two lines\nof text",
        "这是**“重点”**内容",
        "API \u0645\u0631\u062d\u0628\u0627 \u0628\u0643\n- HTTP \u0628\u0643",
        "# A heading",
        "Another heading\n---",
        "***",
        "- one\n- two\n  - three",
        "- loose\n\n- list\n\n  goes on",
        "1. one\n2. two",
        "2) other\n3) numbers",
        "* stars",
        "> quoted\ngoes on",
        "```python\ndef f():\n\n    return 1\n```",
        "~~~\n- no list\n\n# no heading\n~~~",
        "    indented\n\n    code",
        "| a | b |\n|---|--:|\n| 1 | 2 |",
        "![image](https://example.com/x.png)",
        "<b>raw</b> & 😀",
        "- ```\n  in a list\n\n  ```",
        "text\r\nwith\rother ends",
        "Money $5, and $x_1$ and \\(y\\) and \\[z\\].",
        "$$\nx\n- y\n= z\n$$",
        "\\[\n# x\n\n",
        "$$ never closed",
        "in front\n\\begin{align}\n- a &= b\n\\end{align}",
        "- in a list\n  $$\n  x\n  $$ goes on",
        "$$\nx\n$$ is no block",
        "- [ ] to do\n- [x] done $z$",
    ]
)
DOCUMENTS = st.lists(st.tuples(BLOCKS, st.sampled_from(["\n", "\n\n", "\r\n\r\n"])), max_size=12)


@given_examples(40, 300, DOCUMENTS, st.lists(st.integers(1, 40), min_size=1))
def test_however_it_arrives_a_growing_answer_ends_as_the_whole(pieces: list[tuple[str, str]], sizes: list[int]) -> None:
    text = "".join(block + end for block, end in pieces)
    stream, shown, place, turn = StreamingMarkdown(look_here), "", 0, 0
    while place < len(text):
        stream.feed(text[place : place + sizes[turn % len(sizes)]])
        place, turn = place + sizes[turn % len(sizes)], turn + 1
        finished, tail = take(stream)
        shown += finished
    stream.feed("\n\n")  # a formula may be open till then
    finished, tail = take(stream)
    assert shown + finished + tail == render_markdown(text + "\n\n")


BEFORE = st.sampled_from(["", "A **b** c.\n\n", "- a\n- b\n\n", "1. one\n\n", "> said\n\n", "```\ncode\n\n", "    in\n\n"])


@given(BEFORE, st.text("ab1 .,;!?'\"()%-–_*`@:/&<", min_size=1, max_size=20))
def test_a_line_of_plain_prose_looks_as_if_it_had_been_formatted(before: str, line: str) -> None:
    assume(line.strip() != "-")  # a list to come, perhaps: it does not flash up as one
    stream = StreamingMarkdown(look_here)
    stream.feed(before + line)
    finished, tail = take(stream)
    assert finished + tail == render_markdown(before + line)


def test_a_link_finds_its_definition_in_an_earlier_block() -> None:
    stream = StreamingMarkdown(look_here)
    stream.feed("[known]: https://example.com/known\n\nOne.\n\n")
    take(stream)
    stream.feed("Two.\n\nSee [known].")
    assert 'href="https://example.com/known"' in take(stream)[1]


def test_a_list_finds_a_definition_that_came_after_a_look_at_it() -> None:
    stream = StreamingMarkdown(look_here)
    stream.feed("- see [a]\n\nsome prose")
    assert "href" not in take(stream)[1]
    stream.feed("\n\n[a]: https://example.com/a\n\n# Then\n\n- see [a]\n\nmore prose")
    finished, tail = take(stream)
    assert (finished + tail).endswith(render_markdown("[a]: https://example.com/a\n\n# Then\n\n- see [a]\n\nmore prose"))


def test_a_long_definition_is_not_written_into_each_link() -> None:
    stream = StreamingMarkdown(look_here)
    stream.feed(f"[a]: https://example.com/{'x' * 3_000}\n\n# Text\n\n")
    take(stream)
    stream.feed("[a]" * 240)
    assert take(stream) == ("", to_plain_html("# Text\n\n" + "[a]" * 240))


def test_definitions_beyond_a_limit_are_not_kept() -> None:
    stream = StreamingMarkdown(look_here)
    stream.feed(f"[short]: https://a.com\n[long]: https://b.com/{'x' * 20_000}\n\nOne.\n\n")
    take(stream)
    stream.feed("Two.\n\nSee [short] and [long].")
    assert take(stream)[1].endswith('">short</a> and [long].</p>\n')


def test_what_is_finished_is_not_rendered_again() -> None:
    stream = StreamingMarkdown(look_here)
    stream.feed("# Title\n\nOne.\n\nTwo")
    assert take(stream) == ("<h2>Title</h2>\n", "<p>One.</p>\n<p>Two</p>\n")
    stream.feed(" goes on.\n")
    assert take(stream) == ("<p>One.</p>\n", "<p>Two goes on.</p>\n")


def test_a_list_to_come_does_not_flash_up_as_a_heading() -> None:
    stream = StreamingMarkdown(look_here)
    stream.feed("Three things:\n-")
    assert take(stream) == ("", "<p>Three things:</p>\n")


def test_a_long_tail_that_rests_is_shown_to_its_last_character() -> None:
    stream = StreamingMarkdown(look_here)
    stream.feed("word " * 1000)
    take(stream)
    stream.feed("end")
    take(stream)
    assert take(stream)[1].endswith("end</p>\n")


def test_code_is_looked_at_elsewhere_and_its_cost_is_told() -> None:
    async def look(text: str, definitions: Definitions) -> tuple[Look, float]:
        return Look("<p>finished</p>", "rest", {}, "<p>tail</p>"), 0.2

    stream = StreamingMarkdown(look)
    stream.feed("```c\n")
    assert take(stream) == ("<p>finished</p>", "<p>tail</p>")
    assert stream.cost_seconds == 0.2


def test_a_text_that_takes_too_long_is_plain_and_tried_again_at_twice_its_length() -> None:
    stream, gives_up = StreamingMarkdown(look := GivesUp()), ["```c\n$\t", " $" * 3, "\n<b>" * 3]
    for text in gives_up:
        stream.feed(text)
        finished, tail = take(stream)
    assert (finished, tail) == ("", to_plain_html("".join(gives_up)))
    assert look.lengths == [7, len("".join(gives_up))]


def test_a_text_that_took_too_long_ends_and_what_follows_is_formatted() -> None:
    stream = StreamingMarkdown(GivesUp())
    stream.feed("|" * 200_001)
    assert take(stream) == (to_plain_html("|" * 200_001), "")
    stream.feed("**a**")
    assert take(stream) == ("", "<p><strong>a</strong></p>\n")


def test_unfinished_code_keeps_its_colours_up_to_a_length_and_gets_them_back_when_it_is_finished() -> None:
    stream, code = StreamingMarkdown(look_here), "```python\n" + "x = 1\n" * 400
    stream.feed(code[:1000])
    assert 'class="mi"' in take(stream)[1]
    stream.feed(code[1000:])
    assert "<span" not in take(stream)[1]
    stream.feed("```\n\nAfterwards it goes on.\n")
    assert 'class="mi"' in take(stream)[0]
