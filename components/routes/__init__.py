"""The HTTP and WebSocket routes beside Dash, each in its own module."""

from starlette.convertors import Convertor, register_url_convertor

from checkpoints.values.thread_ids import read_thread_id, write_thread_id


class _ThreadIds(Convertor[str]):
    """`{thread_id:thread}` in a route: any characters, line breaks and slashes included (see `write_thread_id`)."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return read_thread_id(value)

    def to_string(self, value: str) -> str:
        return write_thread_id(value)


register_url_convertor("thread", _ThreadIds())
