"""The ids of conversations in addresses: none leads to another one."""

import posixpath
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from checkpoints.values.thread_ids import read_thread_id, write_thread_id

IDS = st.text(st.sampled_from("./~%\n a"), min_size=1) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(IDS)
def test_each_id_has_a_segment_of_its_own_that_no_browser_takes_for_a_step(thread_id: str) -> None:
    segment = write_thread_id(thread_id)
    assert posixpath.normpath(f"/t/{segment.replace('%2E', '.')}") == f"/t/{segment}"
    assert read_thread_id(unquote(segment)) == thread_id
