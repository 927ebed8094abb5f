"""A message names its attached files."""

from checkpoints import Store
from checkpoints.values import files
from components.views import message_view
from tests.attachments import asking

PAGE = files.parse_file("päge.html", b"<script>alert(1)</script>")


def test_a_message_says_what_is_attached_to_it(memory_store: Store) -> None:
    thread_id = memory_store.create_thread().id
    memory_store.append(thread_id, [asking("look", PAGE)])
    [view] = message_view.describe_messages(memory_store.list_messages(thread_id))
    assert (view["text"], [file["name"] for file in view["files"]]) == ("look", ["päge.html"])
