"""Generated values: texts, JSON and messages as a model, a tool or a person could have written them."""

from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)  # any text but halves of surrogate pairs
names = st.text("abcXYZ_-09", min_size=1, max_size=8)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
json_values = st.recursive(
    scalars, lambda below: st.lists(below, max_size=3) | st.dictionaries(texts, below, max_size=3), max_leaves=6
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
contents = texts | st.lists(texts | st.builds(lambda text: {"type": "text", "text": text}, texts), max_size=3)
_identifiers = st.none() | names


def _calls() -> st.SearchStrategy[list[dict[str, Any]]]:
    call = st.fixed_dictionaries({"name": names, "args": json_objects, "id": names, "type": st.just("tool_call")})
    return st.lists(call, max_size=3)


def _usage() -> st.SearchStrategy[dict[str, int] | None]:
    count = st.integers(0, 10**6)
    return st.none() | st.fixed_dictionaries({"input_tokens": count, "output_tokens": count, "total_tokens": count})


messages: st.SearchStrategy[BaseMessage] = st.one_of(
    st.builds(HumanMessage, content=contents, id=_identifiers, name=_identifiers, additional_kwargs=json_objects),
    st.builds(SystemMessage, content=contents, id=_identifiers),
    st.builds(
        AIMessage,
        content=contents,
        id=_identifiers,
        tool_calls=_calls(),
        usage_metadata=_usage(),
        response_metadata=st.dictionaries(names, texts, max_size=2),
    ),
    st.builds(
        ToolMessage,
        content=contents,
        tool_call_id=names,
        name=_identifiers,
        status=st.sampled_from(["success", "error"]),
        artifact=json_values,
    ),
)

_counts = [0, 1, 2**31 - 1, 2**31, 2**53, 2**63, 10**40, 10**4000, -1, -(10**40)]
_others = [1.5, 1e300, "nan", "12", "-1", True, None, [], {}]
hostile_numbers = st.sampled_from([*_counts, *_others])
"""What may stand where a count belongs."""
