"""What is to be left out of an export is nowhere in it, and what is left is a document like any other."""

import json
import time
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata

from checkpoints import NewMessage, Store
from checkpoints.interchange import document_redaction, reading, transfer
from checkpoints.interchange.pattern_search import ReadPlaces, is_searchable, read_escapes
from checkpoints.interchange.redaction import REDACTED, Redaction
from checkpoints.values import serde
from checkpoints.values.errors import ExportTooLargeError, InvalidRedactionError
from checkpoints.values.reasoning import Reasoning
from tests.checkpoints.conversations import new, talked, texts
from tests.checkpoints.interchange.test_transfer import conversation, elsewhere, imported
from tests.rounds import given_examples
from tests.strategies import messages


def redacted(store: Store, thread_id: str, *patterns: str, tool_results: bool = False) -> Any:
    return json.loads(transfer.export(store, thread_id, Redaction(tool_results, patterns)))


def add(store: Store, thread_id: str, *new: BaseMessage) -> None:
    store.append(thread_id, [NewMessage(serde.to_body(message)) for message in new])


@pytest.mark.parametrize(
    ("pattern", "text", "left"),
    [
        ("acme", "Acme and ACME inc", "[redacted] and [redacted] inc"),
        ("Jane Doe", "(jane doe), Jane", "([redacted]), Jane"),
        ("sk-*", "key sk-abc123, not risk", "key [redacted] not risk"),
        ("*@example.com", "to a.b@example.com now", "to [redacted] now"),
        ("4*-*9", "4-9 44-99x 4 -9", "[redacted] [redacted]9x 4 -9"),
        ("*", "all of it", "[redacted] [redacted] [redacted]"),
        (".+", "a.+b but not ab", "a[redacted]b but not ab"),
    ],
)
def test_a_pattern_is_a_text_in_any_case_and_its_star_the_rest_of_a_word(pattern: str, text: str, left: str) -> None:
    assert Redaction(patterns=(pattern,)).redact_text(text) == left


@pytest.mark.parametrize(
    ("pattern", "text", "left"),
    [
        ("José", "to Jose\u0301 now", "to [redacted] now"),
        ("Jose\u0301", "to JOSÉ now", "to [redacted] now"),
        ("Jose", "to José and Jose\u0301!", "to [redacted] and [redacted]!"),
        ("sk-*", "SK\u2011abc sk\u2010abc sk\u2212abc sk_abc", "[redacted] [redacted] [redacted] sk_abc"),
        ("a-b", "a\u2013b a\u2212b a\u2014b a b", "[redacted] [redacted] [redacted] a b"),
        ("o'brien", "O\u2019Brien, o\u02bcbrien, o`brien, o\u00b4brien", "[redacted], [redacted], [redacted], [redacted]"),
        ("o\u2019brien", "o'brien", "[redacted]"),
        ('"x"', "\u201cX\u201d \u00abx\u00bb", "[redacted] [redacted]"),
        ("secret", "s\u0336e\u0336c\u0336r\u0336e\u0336t\u0336, s\u20ddecret", "[redacted], [redacted]"),
        ("ガ", "ｶﾞ カ\u3099 カ", "[redacted] [redacted] カ"),  # a voiced consonant is another letter
        ("password", "pass\nword pass word", "pass\nword pass word"),  # the dialog says so
        ("Jane Doe", "Jane\u00a0Doe, Jane\n   Doe, Jane\u2003Doe", "[redacted], [redacted], [redacted]"),
        ("Jane\tDoe", "Jane Doe", "[redacted]"),
        ("secret", "sec\u00adret se\u200bcr\u2060et s\ufe0fecret se\0cret", "[redacted] [redacted] [redacted] [redacted]"),
        ("se\u00adcret", "secret", "[redacted]"),
        ("STRASSE", "Große Straße 1", "Große [redacted] 1"),
        ("straße", "Große STRASSE 1", "Große [redacted] 1"),
        ("s", "ß", "[redacted]"),
        ("Işık", "IŞIK, ışık", "[redacted], [redacted]"),
        ("istanbul", "İSTANBUL", "[redacted]"),
        ("malmo", "Malmø", "[redacted]"),
        ("acme", "ａｃｍｅ 𝐀𝐂𝐌𝐄", "[redacted] [redacted]"),
        ("office", "the oﬃce", "the [redacted]"),
        ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8!", "[redacted]!"),
        ("sk-*", "key ｓｋ\u2060-abc\u00ad123, é", "key [redacted] é"),
        ("*@example.com", "à a.b@EXAMPLE\u200d.com à", "à [redacted] à"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ", "[redacted]"),
    ],
)
def test_what_looks_the_same_is_found(pattern: str, text: str, left: str) -> None:
    assert Redaction(patterns=(pattern,)).redact_text(text) == left


@given_examples(100, 1_000, st.text(min_size=1, max_size=9), st.text(max_size=20), st.text(max_size=20))
def test_what_is_looked_for_is_found_wherever_it_stands(pattern: str, before: str, after: str) -> None:
    assume(pattern.strip() and "*" not in pattern and is_searchable(pattern))
    text = f"{before} {pattern.strip()} {after}"
    assert REDACTED in Redaction(patterns=(pattern,)).redact_text(text)


def test_ids_are_replaced_and_calls_keep_their_results(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    parts: list[str | dict[str, Any]] = [{"type": "reasoning", "id": "rs-jane-1", "text": "hm"}]
    call = AIMessage(parts, id="run-jane", tool_calls=[{"name": "f", "args": {}, "id": "call-jane-1"}])
    add(store, thread_id, call, ToolMessage("done", tool_call_id="call-jane-1", name="f"))
    store.append(thread_id, [NewMessage(new("c")[0].body, id="message-of-jane")])
    store.save(thread_id, name="here")
    made = redacted(store, thread_id, "jane")
    assert "jane" not in json.dumps(made)
    asked, answered = (serde.to_message(made["messages"][index]["message"]) for index in (2, 3))
    assert isinstance(asked, AIMessage)
    assert isinstance(answered, ToolMessage)
    assert asked.tool_calls[0]["id"] == answered.tool_call_id == "redacted-3"
    assert len(reading.read_document(json.dumps(made)).messages) == 5
    assert redacted(store, thread_id, "jane")["sha256"] == made["sha256"]


def test_what_several_patterns_find_is_replaced_once() -> None:
    assert Redaction(patterns=("abc", "bcd", "de")).redact_text("xabcdey") == f"x{REDACTED}y"


def test_no_text_takes_long_to_search() -> None:
    hostile = Redaction(patterns=("a*a*a*a*a*b", "*a*c", "aaaa*d", "a b c", "é e"))
    began = time.process_time()
    for text in ("a" * 200_000, "a" + " " * 200_000, "a " * 100_000, "é" * 200_000, "a" + "\u0301\u0316" * 50_000):
        assert hostile.redact_text(text) == text
    assert time.process_time() - began < 10  # it would be hours if it were tried in every way


def test_words_that_stand_everywhere_are_refused_with_the_limit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    thread_id = talked(store, "a b a", "x")
    monkeypatch.setattr(document_redaction, "MAX_REDACTED_PLACES", 2)
    assert REDACTED in json.dumps(redacted(store, thread_id, "a b"))
    with pytest.raises(ExportTooLargeError, match=r"stand in over 2 places\. Use fewer or longer words\."):
        redacted(store, thread_id, "*")


def test_many_keys_that_become_alike_cost_one_step_each(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.save(thread_id, name="keys", extra={f"acme{number}": 1 for number in range(20_000)})
    began = time.process_time()
    assert len(redacted(store, thread_id, "acme*")["checkpoints"][-1]["extra"]) == 20_000
    assert time.process_time() - began < 10  # it would be minutes if each were compared with all before it


@pytest.mark.parametrize(
    "patterns", [("a" * 201,), ("",), (" ",), ("\u00ad",), ("a*\u200b",), ("two words*",), ("a",) * 101]
)
def test_a_pattern_that_cannot_be_looked_for_is_refused(patterns: tuple[str, ...]) -> None:
    with pytest.raises(InvalidRedactionError):
        Redaction(patterns=patterns)


def test_tool_results_are_left_out_and_all_else_stays(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    call = AIMessage("I look", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "1"}])
    add(store, thread_id, call, ToolMessage("the answer", tool_call_id="1", name="f", artifact={"raw": "the answer"}))
    made = redacted(store, thread_id, tool_results=True)
    assert "the answer" not in json.dumps(made)
    result = serde.to_message(made["messages"][3]["message"])
    assert isinstance(result, ToolMessage)
    assert (result.content, result.tool_call_id, result.name, result.artifact) == (REDACTED, "1", "f", None)
    original = json.loads(transfer.export(store, thread_id))
    assert made["messages"][:3] == original["messages"][:3]
    assert made["messages"][3]["id"] != original["messages"][3]["id"]


def test_a_word_is_nowhere_in_the_redacted_export(store: Store) -> None:
    thread_id = talked(store, "Tell me of acme", "b")
    args = {"acme": "ACME", "more": [{"x": "to acme"}], "number": 4711}
    call = AIMessage([{"type": "text", "text": "acme?"}], tool_calls=[{"name": "ask_acme", "args": args, "id": "1"}])
    add(store, thread_id, call, ToolMessage("acme 4711", tool_call_id="1", name="ask_acme", artifact={"a": ["acme"]}))
    add(store, thread_id, HumanMessage("x", name="acme", additional_kwargs={"from": "acme"}))
    store.append(thread_id, [NewMessage(serde.to_body(AIMessage("done")), agent="acme-helper")])
    store.save(thread_id, name="for acme", description="all of Acme", extra={"acme": {"deep": "acme"}})
    store.fork(thread_id, store.list_messages(thread_id)[1].id, name="acme branch")
    store.rename_thread(thread_id, "Acme, 4711")
    made = redacted(store, thread_id, "acme", "4711")
    assert "acme" not in json.dumps(made).lower()
    assert "4711" not in json.dumps([made["messages"][i]["message"] for i in range(len(made["messages"]))])
    assert "4711" not in made["thread"]["title"]


def test_a_tools_own_fields_are_searched_whatever_they_are_called(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    call = AIMessage("", tool_calls=[{"name": "f", "args": {"type": "jane"}, "id": "1"}])
    parts: list[str | dict[str, Any]] = [{"type": "text", "text": "x", "status": "jane", "role": "jane", "index": "jane"}]
    add(store, thread_id, call, ToolMessage(parts, tool_call_id="1"), ChatMessage("x", role="jane"))
    assert "jane" not in json.dumps(redacted(store, thread_id, "jane"))


def test_keys_that_become_alike_keep_what_each_holds(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.save(thread_id, name="keys", extra={"acme1": 1, "acme2": 2})
    assert redacted(store, thread_id, "acme*")["checkpoints"][-1]["extra"] == {REDACTED: 1, f"{REDACTED} (2)": 2}


def test_a_redacted_export_is_imported_beside_the_original_and_works(store: Store) -> None:
    thread_id = conversation(store)
    text = transfer.export(store, thread_id, Redaction(True, ("a", "compacted")))
    made = imported(store, text)
    assert made != thread_id
    assert texts(store, made) == [REDACTED, "b", "g"]
    assert imported(store, text) == made  # the same redaction is the same document
    assert len(store.list_all_checkpoints(made)) == len(store.list_all_checkpoints(thread_id))
    assert not {m.id for m in store.list_all_messages(made)} & {m.id for m in store.list_all_messages(thread_id)}


def test_nothing_to_redact_changes_nothing(store: Store) -> None:
    thread_id = conversation(store)
    assert redacted(store, thread_id, "not there")["sha256"] == json.loads(transfer.export(store, thread_id))["sha256"]


@given_examples(
    25, 150, st.lists(messages, min_size=1, max_size=4), st.sampled_from(["a", "*", "0", "x*", "te", "id"]), st.booleans()
)
def test_whatever_is_redacted_can_be_read_again(said: list[BaseMessage], pattern: str, tool_results: bool) -> None:
    store = elsewhere()
    thread_id = store.create_thread(title="a").id
    add(store, thread_id, *said)
    doc = reading.read_document(transfer.export(store, thread_id, Redaction(tool_results, (pattern,))))
    assert [part.message["type"] for part in doc.current_messages()] == [message.type for message in said]
    store.database.close()


def test_reasoning_leaves_with_the_results_it_quotes_and_its_items_with_any_pattern(store: Store) -> None:
    thread_id = store.create_thread().id
    reasoning = Reasoning("Acme asks for 42.", source="s", blocks=[{"type": "reasoning", "encrypted_content": "opaque"}])
    add(store, thread_id, HumanMessage("hi"), AIMessage("yes", additional_kwargs=reasoning.to_kwargs()))
    assert "opaque" in json.dumps(redacted(store, thread_id))
    found = json.dumps(redacted(store, thread_id, "acme"))
    assert f"{REDACTED} asks for 42." in found
    assert "opaque" not in found
    assert "asks for" not in json.dumps(redacted(store, thread_id, tool_results=True))


def test_a_word_that_the_parts_of_a_message_split_is_found() -> None:
    parts = [
        "Call Jo",
        {"type": "text", "text": "s\u00e9 "},
        {"type": "reasoning", "id": "r"},
        {"type": "text", "text": "Garcia!"},
    ]
    redacted = document_redaction.DocumentRedaction(Redaction(patterns=("jose garcia",)))._redact_body(
        serde.to_body(AIMessage(parts))
    )
    assert "".join(each if isinstance(each, str) else each.get("text", "") for each in redacted["data"]["content"]) == (
        "Call [redacted][redacted][redacted]!"
    )


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("x", status="Garcia", usage_metadata={"Garcia": ["Garcia"]}, tool_call_id={"Garcia": 1}),
        AIMessage("x", status="Garcia", tool_call_id=["Garcia"]),
        AIMessage([{"type": "text", "text": "x", "id": {"by": "Garcia"}, "status": "Garcia", "usage_metadata": "Garcia"}]),
        ToolMessage("x", tool_call_id="1", usage_metadata="Garcia"),
    ],
)
def test_fields_that_are_structural_elsewhere_are_searched(message: BaseMessage) -> None:
    redacted = document_redaction.DocumentRedaction(Redaction(patterns=("garcia",)))._redact_body(serde.to_body(message))
    assert "Garcia" not in str(redacted)


def test_structural_fields_stay_as_they_are() -> None:
    usage = UsageMetadata(input_tokens=17, output_tokens=1, total_tokens=18)
    for message in (AIMessage("17", usage_metadata=usage), ToolMessage("17", tool_call_id="1", status="error")):
        body = serde.to_body(message)
        redacted = document_redaction.DocumentRedaction(Redaction(patterns=("17", "error")))._redact_body(body)
        assert redacted == {**body, "data": {**body["data"], "content": "[redacted]"}}


@pytest.mark.parametrize(
    ("pattern", "written", "left"),
    [
        ("jane_doe", r"by Jane\_Doe.", "by [redacted]."),
        ("Jane Doe", "by J&#97;ne&nbsp;Do&#x65;.", "by [redacted]."),
        ("ane", "J&#97;ne", "J[redacted]"),
        ("Müller & Co", "M&uuml;ller &amp; Co &amp;", "[redacted] &amp;"),
        ("sk-*", r"sk\-a\_b c", "[redacted] c"),
        ("a_b", r"\\a\_b\\", r"\\[redacted]\\"),
        ("DOMAIN\\", r"DOMAIN\_admin", "[redacted]_admin"),  # as it was written
        ("&copy", "a&copy;b", "a[redacted];b"),
        ("a", "&aa;", "&[redacted];"),  # names that HTML does not have
        ("b¬", "b&notit; b&not;", "b&notit; [redacted]"),
        ("R&D", "R&D; &bogus; 1 &#0; &#1;", "[redacted]; &bogus; 1 &#0; &#1;"),
    ],
)
def test_a_word_with_escapes_of_markdown_is_found_as_it_is_read(pattern: str, written: str, left: str) -> None:
    """The page of a link and an export as HTML show it without them."""
    assert Redaction(patterns=(pattern,)).redact_text(written) == left


@given(
    st.lists(
        st.sampled_from(["a", "b", "\\", "_", "&", "&#97;", "&amp;", "&#1;", "&not", "&acE;", ";", " "]), max_size=12
    ).map("".join)
)
def test_no_escape_is_cut_or_moves_a_match(written: str) -> None:
    read, places = read_escapes(written), ReadPlaces(written)
    for start in range(len(read)):
        first, last = places.locate(start, start + 1)
        assert 0 <= first < last <= len(written)
        assert read[start] in read_escapes(written[first:last])
