"""The pieces of an answer are joined while they come, and come to the same as if they were joined at the end."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.messages.tool import tool_call_chunk

from agent.graph import answer_pieces
from agent.graph.answer_pieces import MAX_SEPARATE_PIECES, AnswerPieces

TEXTS = st.text("ab", max_size=3)
CALLS = st.builds(
    tool_call_chunk,
    name=st.none(),
    args=TEXTS,
    id=st.none(),
    index=st.none() | st.integers(0, 2),
)
BLOCKS = st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS, "index": st.integers(0, 2)})
OTHERS = st.one_of(
    st.builds(lambda calls: AIMessageChunk(content="", tool_call_chunks=calls), st.lists(CALLS, max_size=1)),
    st.builds(lambda text: AIMessageChunk(content="", additional_kwargs={"reasoning_content": text}), TEXTS),
    st.builds(
        lambda reason: AIMessageChunk(content="", response_metadata={"finish_reason": reason}), st.sampled_from(["stop", ""])
    ),
)
TEXT_STREAMS = st.lists(st.one_of(TEXTS.map(lambda text: AIMessageChunk(content=text)), OTHERS), min_size=1, max_size=30)
BLOCK_STREAMS = st.lists(
    st.one_of(st.builds(lambda blocks: AIMessageChunk(content=list(blocks)), st.lists(BLOCKS, max_size=1)), OTHERS),
    max_size=30,
).map(lambda pieces: [AIMessageChunk(content=[]), *pieces])


@given(st.one_of(TEXT_STREAMS, BLOCK_STREAMS), st.integers(2, 5))
def test_groups_come_to_the_same_as_all_pieces_at_once(pieces: list[AIMessageChunk], size: int) -> None:
    joined = AnswerPieces()
    with patch.object(answer_pieces, "MAX_SEPARATE_PIECES", size):
        for piece in pieces:
            joined.add(piece)
    assert joined.join() == add_ai_message_chunks(pieces[0], *pieces[1:])
    assert joined.count == len(pieces)


def test_no_step_joins_more_than_a_group_or_all_groups() -> None:
    sizes, join = list[int](), add_ai_message_chunks

    def join_counted(first: AIMessageChunk, *others: AIMessageChunk) -> AIMessageChunk:
        sizes.append(1 + len(others))
        return join(first, *others)

    pieces = AnswerPieces()
    with patch.object(answer_pieces, "add_ai_message_chunks", join_counted):
        for _ in range(10 * MAX_SEPARATE_PIECES):
            pieces.add(AIMessageChunk(content="ab"))
        assert pieces.join().content == "ab" * 10 * MAX_SEPARATE_PIECES
    assert sizes == [MAX_SEPARATE_PIECES] * 10 + [10]
