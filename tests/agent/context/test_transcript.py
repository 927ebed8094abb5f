"""A conversation between two tags: nothing in it ends it, and it reads back as it was."""

import json

from hypothesis import given
from hypothesis import strategies as st

from agent.context.transcript import encode_entry, wrap_entries

TEXTS = st.lists(st.sampled_from(["<", "</conversation>", "<conversation>", "\n", "\\u003c", '"', "é"])).map("".join)


@given(st.lists(TEXTS))
def test_no_text_ends_the_conversation_and_all_of_it_reads_back(texts: list[str]) -> None:
    opening, body, closing = wrap_entries([encode_entry({"text": text}) for text in texts]).split("\n")
    assert (opening, closing) == ("<conversation>", "</conversation>")
    assert "<" not in body
    assert [entry["text"] for entry in json.loads(body)] == texts
