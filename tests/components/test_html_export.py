"""The export as one HTML file: whole, in order, redacted; and nothing in it runs or loads."""

from html.parser import HTMLParser
from unittest.mock import patch

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints import NewMessage, Store, serde
from checkpoints.errors import ExportTooLargeError
from checkpoints.interchange.redaction import Redaction
from components import html_export
from components.html_export import export_html
from tests.checkpoints.conversations import new, talked
from tests.hostile_texts import COMMANDS, TAGS

HOSTILE = [*TAGS, *COMMANDS, *(f"{text}&quot;'/><a href='javascript:1'>" for text in TAGS)]


class Elements(HTMLParser):
    """The elements of a document with their attributes, and its texts outside of styles."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def expect_harmless(self) -> None:
        tags = {tag for tag, _ in self.found}
        assert not tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form", "video", "audio", "use"}
        assert [tag for tag, _ in self.found].count("style") == 1
        for tag, attributes in self.found:
            assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset")], tag
            address = attributes.get("href") or "#"
            assert address.startswith(("#", "https://", "http://", "mailto:")), address


def test_messages_calls_and_checkpoints_are_there_in_order(memory_store: Store) -> None:
    thread_id = talked(memory_store, "First **question**", "An *answer*")
    call = {"name": "look", "args": {"at": "birds"}, "id": "1", "type": "tool_call"}
    messages = [HumanMessage("Second"), AIMessage("", tool_calls=[call]), ToolMessage("three herons", tool_call_id="1")]
    memory_store.append(thread_id, [NewMessage(serde.to_body(each)) for each in messages])
    memory_store.save(thread_id, name="At the birds", description="on the shore")
    memory_store.append(thread_id, new("The end"))
    document = export_html(memory_store, thread_id)
    order = ["<h1>Talk</h1>", "First **question**", "An <em>answer</em>", "after An *answer*", "Second", "Tool: look"]
    places = [document.index(text, document.index("<body>")) for text in order if text != "after An *answer*"]
    places.append(document.index("three herons"))
    places += [document.index("<strong>At the birds</strong> <span>on the shore</span>"), document.index("The end")]
    assert places == sorted(places)
    assert document.index("An <em>answer</em>") < document.rindex("after An *answer*") < document.index("Second")
    assert '<svg class="history"' in document
    assert ">main · you are here<" in document


def test_redacted_words_are_nowhere(memory_store: Store) -> None:
    thread_id = talked(memory_store, "the secret plan", "a secret answer")
    memory_store.rename_thread(thread_id, "My secret")
    memory_store.save(thread_id, name="secret place", description="secret too")
    memory_store.fork(thread_id, None, name="secret branch")
    assert "secret" not in export_html(memory_store, thread_id, Redaction(False, ("secret",)))
    assert export_html(memory_store, thread_id).count("secret") >= 4


def test_nothing_in_it_runs_or_loads(memory_store: Store) -> None:
    thread_id = talked(memory_store, *HOSTILE[: len(HOSTILE) // 2 * 2])
    for number, text in enumerate(HOSTILE):
        call = {"name": text[:60], "args": {text[:60]: text}, "id": f"{number}", "type": "tool_call"}
        messages = [AIMessage(f"{text}\n\n$${text}$$", tool_calls=[call]), ToolMessage(text, tool_call_id=f"{number}")]
        memory_store.append(thread_id, [NewMessage(serde.to_body(each)) for each in messages])
        memory_store.save(thread_id, name=text, description=text)
    for text in HOSTILE:
        memory_store.fork(thread_id, None, name=text)
    memory_store.switch(thread_id, memory_store.list_branches(thread_id)[0][0].id)
    memory_store.rename_thread(thread_id, HOSTILE[0] + HOSTILE[-1])
    Elements(export_html(memory_store, thread_id)).expect_harmless()


def test_the_graph_has_branches_in_lanes_of_their_own(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b", "c", "d")
    first = memory_store.list_messages(thread_id)[1].id
    memory_store.fork(thread_id, first, name="Side")
    memory_store.append(thread_id, new("e", "f"))
    memory_store.save(thread_id, name="of the side")
    conversation = html_export.read_conversation(memory_store, thread_id)
    rows = html_export.history_svg.lay_out(html_export.history_svg.list_labels(conversation, {}), conversation.forks)
    assert [(row.lane, row.label and row.label.text, row.above, row.is_current) for row in rows] == [
        (0, None, None, True),
        (0, "after b", 0, True),
        (1, "after d", 1, False),
        (1, "main", 2, False),
        (0, "of the side", 1, True),
        (0, "Side", 4, True),
    ]


def test_a_file_that_no_browser_opens_is_refused(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b")
    with patch.object(html_export, "MAX_HTML_CHARS", 1_000), pytest.raises(ExportTooLargeError, match="Choose Markdown"):
        export_html(memory_store, thread_id)


def test_the_policy_allows_the_style_of_the_file_alone(memory_store: Store) -> None:
    document = export_html(memory_store, talked(memory_store, "a", "b"))
    [policy] = [each["content"] for tag, each in Elements(document).found if each.get("http-equiv")]
    assert str(policy).startswith("default-src 'none'; style-src 'sha256-")
    assert "url(" not in html_export.build_style()
    assert "@import" not in html_export.build_style()
    assert "@media (prefers-color-scheme: dark) { :root {" in html_export.build_style()
