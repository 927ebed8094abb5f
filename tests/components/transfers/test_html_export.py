"""The export as one HTML file: whole, in order, redacted; and nothing in it runs or loads."""

import base64
import re
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from agent.marks import CallKey, QuestionMark
from checkpoints import MAIN, Caller, NewMessage, OperationDetail, OperationKind, Runs, RunState, Store
from checkpoints.interchange.export_options import ExportOptions
from checkpoints.interchange.redaction import Redaction
from checkpoints.values import files, serde
from checkpoints.values.answer_spec import make_spec_entry
from checkpoints.values.errors import ExportTooLargeError
from checkpoints.values.model import Actor
from components.transfers import html_export
from components.transfers.html_export import export_html
from tests.attachments import asking, png
from tests.checkpoints.conversations import new, talked
from tests.hostile_texts import COMMANDS, HOSTILE_TEXTS, TAGS, Elements

ENDINGS = ("\"'>", "</title></style></svg>", "&lt;]]>-->", "</details></article>&quot;\" onclick=alert(1) '")
HOSTILE = [*HOSTILE_TEXTS, *TAGS, *COMMANDS, *(f"{ending}{tag}" for ending in ENDINGS for tag in TAGS)]


IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")
FORBIDDEN = {
    "script",
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
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcset")], tag
        is_embedded = tag == "img" and IMAGE.fullmatch(attributes.get("src") or "")
        assert is_embedded or (tag != "img" and "src" not in attributes), tag
        assert re.match(r"#|/$|(https?|mailto):", attributes.get("href") or "#"), tag


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
    assert '<svg class="history" role="group"' in document  # of links, which a picture would hide
    assert ">main · you are here<" in document
    memory_store.save(thread_id, name="At the end")
    main = memory_store.get_thread(thread_id).branch_id
    memory_store.fork(thread_id, None, name="other")
    memory_store.append(thread_id, new("Another end"))
    memory_store.save(thread_id, name="Elsewhere")
    memory_store.switch(thread_id, main)
    document = export_html(memory_store, thread_id)
    assert ">At the end · main · you are here<" in document
    assert ">Elsewhere · other<" in document
    assert document.count(">main") == document.count(">other") == 0


def test_the_graph_tells_who_saved_a_checkpoint(memory_store: Store) -> None:
    thread_id = memory_store.create_thread().id
    actors: Sequence[Actor] = ("user", "agent", "judge")
    for actor in actors:
        memory_store.append(thread_id, new(actor))
        memory_store.save(thread_id, name=f"by the {actor}", caller=Caller(actor))
    marks = re.findall('<path class="mark-([a-z-]+)" d=', export_html(memory_store, thread_id))
    assert marks == ["checkpoint", "agent-checkpoint", "milestone", "halo"]


def test_a_question_without_an_answer_says_so(memory_store: Store) -> None:
    thread_id = talked(memory_store, "First", "An answer")
    asked = [NewMessage(serde.to_body(HumanMessage(text))) for text in ("Failed", "Newest")]
    memory_store.append(thread_id, asked)
    document = export_html(memory_store, thread_id)
    assert re.findall("<p class='no-answer'>(.*?)</p>", document) == ["No answer.", "No answer yet."]
    assert document.index("Failed") < document.index("No answer.") < document.index("Newest")


def test_an_answer_names_its_model_once(memory_store: Store) -> None:
    thread_id = talked(memory_store, "First", "An answer")
    told = make_spec_entry("openai:gpt-5.4-mini")
    steps = [NewMessage(serde.to_body(AIMessage(text, response_metadata=told))) for text in ("One step", "Another step")]
    memory_store.append(thread_id, [*new("Second"), *steps])
    document = export_html(memory_store, thread_id)
    assert re.findall("<header><span>(.*?)</span>", document) == ["You", "Agent", "You", "gpt-5.4-mini"]


def test_redacted_words_are_nowhere(memory_store: Store) -> None:
    thread_id = talked(memory_store, "the secret plan", "a secret answer")
    told = make_spec_entry("secret-model")
    memory_store.append(thread_id, [NewMessage(serde.to_body(AIMessage("By a model", response_metadata=told)))])
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
        store.append(thread_id, [asking(text, files.parse_file(f"{text}.png".replace("/", " "), png()))])
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
    rows = html_export.history_svg.lay_out(html_export.history_svg.list_labels(conversation, {}, {}), conversation.forks)
    assert [(row.lane, row.label and row.label.text, row.end and row.end.text, row.above, row.line) for row in rows] == [
        (0, None, None, None, "current"),
        (0, "after b", None, 0, "current"),
        (1, "after d", "main", 1, "other"),
        (0, "of the side", "Side", 1, "current"),
    ]


def test_the_graph_has_a_summary_below_what_it_replaced_as_the_page_does(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b", "c", "d")
    runs = Runs(memory_store)
    run = runs.begin_run(thread_id, None, compacts=True)
    runs.replace_with_summary(run, new("in short"), after=None, detail=OperationDetail(messages=4))
    conversation = html_export.read_conversation(memory_store, thread_id)
    labels = html_export.history_svg.list_labels(conversation, {}, {})
    summaries = html_export.history_svg.list_summaries(conversation)
    rows = html_export.history_svg.lay_out(labels, conversation.forks, summaries)
    assert [(row.lane, row.label and row.label.text, row.above, row.line, row.edge) for row in rows] == [
        (0, None, None, "current", "current"),
        (0, "after b", 0, "replaced", "replaced"),
        (0, "after d", 1, "replaced", "replaced"),
        (0, "Summary of 4 messages", 2, "current", "replaced"),
        (0, "main", 3, "current", "current"),
    ]
    document = export_html(memory_store, thread_id)
    assert document.count('<g class="at-replaced">') == 2  # these rows are dimmed
    assert document.count('<path class="line-replaced"') == 3  # and these edges dashed


def test_attached_images_are_in_it_as_far_as_they_fit(memory_store: Store) -> None:
    pictures = [files.parse_file(f"{name}.png", png(colour=(n, 0, 0))) for n, name in enumerate(("first", "second"))]
    thread_id = memory_store.create_thread().id
    memory_store.append(thread_id, [asking("Look", *pictures, files.parse_file("notes.txt", b"a word"))])
    images = [each for tag, each in Elements(export_html(memory_store, thread_id)).found if tag == "img"]
    assert [(each["alt"], each["width"], each["height"]) for each in images] == [
        ("first.png", "40", "30"),
        ("second.png", "40", "30"),
    ]
    assert images[0]["src"] == f"data:image/png;base64,{base64.b64encode(pictures[0].data).decode()}"
    with patch.object(html_export, "MAX_IMAGES_CHARS", len(images[0]["src"]) + 10):
        document = export_html(memory_store, thread_id)
    assert [each["alt"] for tag, each in Elements(document).found if tag == "img"] == ["first.png"]
    assert "Attached: second.png (left out of this file)" in document
    assert "Attached: notes.txt<" in document
    assert "<img" not in export_html(memory_store, thread_id, ExportOptions(Redaction(files=True)))


def test_a_question_of_an_agent_is_nobodys_who_asked(memory_store: Store) -> None:
    mark = QuestionMark(CallKey(MAIN, "1")).to_kwargs()
    call = {"name": "ask_agent", "args": {}, "id": "1", "type": "tool_call"}
    thread_id = talked(memory_store, "Ask the helper")
    memory_store.append(thread_id, [NewMessage(serde.to_body(AIMessage("", tool_calls=[call])))])
    memory_store.append(thread_id, [NewMessage(serde.to_body(HumanMessage("?", additional_kwargs=mark)), agent="helper")])
    headings = re.findall(r"<header><span>(\w+)</span>", export_html(memory_store, thread_id))
    assert headings == ["You", "Agent", "Question"]


def test_the_graph_has_the_moves_of_the_agent(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b", "c", "d")
    runs, after = Runs(memory_store), memory_store.list_messages(thread_id)[1].id
    run = runs.begin_run(thread_id, new("on")[0])
    runs.record_move(run, OperationKind.GOTO, new("note")[0], after=after, detail=OperationDetail(depth=1, messages=2))
    runs.end_run(run, RunState.DONE)
    document = export_html(memory_store, thread_id)
    assert '<a href="#message-3"><text' in document
    assert "Agent went back · 2 messages removed" in document
    assert 'id="message-3"' in document
    assert 'class="line-move"' in document


def test_a_file_that_no_browser_opens_is_refused(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b")
    with patch.object(html_export, "MAX_HTML_CHARS", 1_000), pytest.raises(ExportTooLargeError, match="Choose Markdown"):
        export_html(memory_store, thread_id)


def test_the_policy_allows_the_style_of_the_file_alone(memory_store: Store) -> None:
    document = export_html(memory_store, talked(memory_store, "a", "b"))
    [policy] = [each["content"] for tag, each in Elements(document).found if each.get("http-equiv")]
    assert str(policy).startswith("default-src 'none'; style-src 'sha256-")
    assert re.findall(r"url\(.{24}", html_export.build_style()) == ['url("data:font/woff2;base64,']
    assert "@import" not in html_export.build_style()
    assert "@media (prefers-color-scheme: dark) { :root {" in html_export.build_style()


def test_a_human_message_of_a_graph_is_marked_as_its_own(memory_store: Store) -> None:
    thread_id = talked(memory_store, "Question", "Answer")
    body = serde.to_body(HumanMessage("Summary.", additional_kwargs={"waymark_by_graph": True}))
    memory_store.append(thread_id, [NewMessage(body)])
    article = export_html(memory_store, thread_id).partition("Answer</p>")[2]
    assert '<article class="message message-note"' in article
    assert "written by the graph" in article


def test_title_and_blocks_have_the_direction_of_their_words(memory_store: Store) -> None:
    arabic = "API \u0645\u0631\u062d\u0628\u0627 \u0628\u0643"
    thread_id = talked(memory_store, arabic, f"{arabic}\n\nHello")
    memory_store.rename_thread(thread_id, arabic)
    document = export_html(memory_store, thread_id)
    for part in ("h1", "div", "p"):
        assert f'<{part} dir="rtl">{arabic}</{part}>' in document
    assert "<p>Hello</p>" in document
