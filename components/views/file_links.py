"""The attached files of a message as the page shows them, each with the address of its content."""

from typing import Literal, TypedDict
from urllib.parse import quote

from checkpoints import Message
from checkpoints.values import files
from checkpoints.values.files import FilePart
from checkpoints.values.thread_ids import write_thread_id
from server.addresses import build_address

FILES_PREFIX = "/files/"


class FileView(TypedDict):
    kind: Literal["image", "file"]
    name: str
    # The size is in bytes.
    size: int
    address: str


def describe_files(message: Message) -> list[FileView]:
    return [
        {"kind": part["type"], "name": part["name"], "size": part["size"], "address": _file_address(message, part)}
        for part in files.find_file_parts(message.body["data"].get("content"))
    ]


def _file_address(message: Message, part: FilePart) -> str:
    name = part["file"].partition(":")[2]
    return build_address(f"{FILES_PREFIX}{write_thread_id(message.thread_id)}/{quote(message.id)}/{name}")
