"""The export as one HTML file: whole, in order, redacted; and nothing in it runs or loads."""

import re
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints import NewMessage, Store, serde
from checkpoints.errors import ExportTooLargeError
from checkpoints.interchange.export_options import ExportOptions
from checkpoints.interchange.redaction import Redaction
from components import html_export
from components.html_export import export_html
from tests.checkpoints.conversations import new, talked
from tests.hostile_texts import COMMANDS, HOSTILE_TEXTS, TAGS, Elements

ENDINGS = ("\"'>", "</title></style></svg>", "&lt;]]>-->", "</details></article>&quot;\" onclick=alert(1) '")
HOSTILE = [*HOSTILE_TEXTS, *TAGS, *COMMANDS, *(f"{ending}{tag}" for ending in ENDINGS for tag in TAGS)]


FORBIDDEN = {
    "script",
    "img",
    "iframe",
    "object",
    "embed",
    "link",
    "base",
    "form",
    "video",
    "audio",
    "use",
    "image",
    "foreignobject",
}


def expect_harmless(document: str) -> None:
    """Check that nothing in a document runs or loads, and that it has one style."""
    found = Elements(document).found
    assert not {tag for tag, _ in found} & FORBIDDEN
    assert [tag for tag, _ in found].count("style") == 1
    for tag, attributes in found:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset")], tag
        assert re.match(r"#|(https?|mailto):", attributes.get("href") or "#"), tag


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
    assert "secret" not in export_html(memory_store, thread_id, ExportOptions(Redaction(False, ("secret",))))
    assert export_html(memory_store, thread_id).count("secret") >= 4


def write_hostile(store: Store, hostile: Sequence[str]) -> str:
    """Make a conversation with these texts as messages, calls, results, names and descriptions, and return its id."""
    thread_id = store.create_thread().id
    for number, text in enumerate(hostile):
        call = {"name": text, "args": {text: text}, "id": f"{number}", "type": "tool_call"}
        made = [HumanMessage(text), AIMessage(text, tool_calls=[call]), ToolMessage(text, tool_call_id=f"{number}")]
        store.append(thread_id, [NewMessage(serde.to_body(each)) for each in made])
        store.save(thread_id, name=text, description=text)
    main = store.get_thread(thread_id).branch_id
    for text in hostile:
        store.fork(thread_id, None, name=text)
    store.switch(thread_id, main)
    store.rename_thread(thread_id, " ".join(hostile[:8]))
    return thread_id


def test_nothing_in_it_runs_or_loads(memory_store: Store) -> None:
    expect_harmless(export_html(memory_store, write_hostile(memory_store, HOSTILE[-30:])))


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
