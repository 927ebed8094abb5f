"""Reading of a file: an export of Waymark, of its older form or of Open WebUI becomes documents, or is refused."""

import json
from codecs import BOM_UTF8
from typing import Any

from ..values.errors import InvalidDocumentError
from ..values.progress import Progress, Report, StepCounter, ignore_progress
from ..values.sentence import sentence
from . import legacy, open_webui, strict_json, waymark
from .document_checks import check_document
from .import_limits import check_byte_count
from .long_texts import LongTexts
from .member_reader import MemberReader
from .raw_document import RawDocument
from .waymark import Document


def read_document(text: str | bytes) -> Document:
    """Return the only document in `text`, in any form of `read_documents`. Raises `InvalidDocumentError`."""
    found = read_documents(text)
    if len(found) != 1:
        raise InvalidDocumentError(
            sentence("The file holds {found} conversations, and only one can be read here.", found=len(found))
        )
    return found[0]


def read_documents(text: str | bytes, report: Report = ignore_progress) -> list[Document]:
    """Return the document in an export of waymark/1 or of the older form, or each chat in an export of Open WebUI.

    Raises `InvalidDocumentError`.
    """
    raw = (text.encode(errors="surrogatepass") if isinstance(text, str) else text).removeprefix(BOM_UTF8)
    check_byte_count(len(raw))
    report(Progress(sentence("Reading the file")))
    texts = LongTexts(raw)
    found = _read_raw_documents(texts)
    messages = StepCounter(report, "Checking", sum(each.count_items("messages") for each in found), "messages")
    return [check_document(each, messages.add) for each in found]


def _read_raw_documents(texts: LongTexts) -> list[RawDocument]:
    strict_json.check_value_count(texts.rest)
    reader = MemberReader(texts.rest)
    if reader.is_at("{"):
        return [_read_object(reader, texts)]
    if reader.is_at("["):
        chats = open_webui.read_chats(reader, texts.rest)
        reader.require_end()
        if chats and all(isinstance(chat, dict) for chat in chats):
            return open_webui.convert_open_webui(chats, texts)
    else:
        reader.read_value()
        reader.require_end()
    raise InvalidDocumentError(sentence("The file is not a Waymark export: it does not hold one JSON object."))


def _read_object(reader: MemberReader, texts: LongTexts) -> RawDocument:
    made, legacy_checkpoints = RawDocument({}, {}, texts), None
    for name in reader.iterate_names():
        if reader.is_at("["):
            made.add_items(name, reader.iterate_items())
        elif name == "checkpoints" and reader.is_at("{"):  # in waymark/1, it is a list
            legacy_checkpoints = legacy.read_checkpoints(reader)
            made.add_value(name, {})
        else:
            made.add_value(name, reader.read_value())
    reader.require_end()
    if made.values.get("format") == json.dumps(waymark.FORMAT).encode():
        return made
    if legacy_checkpoints is None or "format" in {*made.values, *made.lists}:
        reason = sentence("is not {format!r}, the only one that can be read", format=waymark.FORMAT)
        raise InvalidDocumentError(reason, "format")
    order: Any = made.parse_value("order") if "order" in made.values else list(legacy_checkpoints)
    if "order" in made.lists:
        order = list(made.iterate_items("order"))
    return legacy.convert_legacy(legacy_checkpoints, order, texts)
