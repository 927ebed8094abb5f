"""Reading of a file: an export of Waymark, of its older form or of Open WebUI becomes documents, or is refused."""

import json
from typing import Any

from ..errors import InvalidDocumentError
from ..limits import MAX_CONVERSATIONS
from ..progress import Progress, Report, StepCounter, ignore_progress
from ..sentence import sentence
from . import legacy, open_webui, strict_json, waymark
from .document_checks import check_document
from .import_limits import check_byte_count
from .long_texts import LongTexts
from .raw_document import RawDocument, make_raw_document, read_raw_document
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
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    check_byte_count(len(raw))
    report(Progress(sentence("Reading the file")))
    texts = LongTexts(raw)
    found = _read_raw_documents(texts)
    messages = StepCounter(report, "Checking", sum(each.count_items("messages") for each in found), "messages")
    return [check_document(each, messages.add) for each in found]


def _read_raw_documents(texts: LongTexts) -> list[RawDocument]:
    if texts.rest.lstrip(b" \t\r\n").startswith(b"{"):
        document = read_raw_document(texts)
        if document.values.get("format") == json.dumps(waymark.FORMAT).encode():
            return [document]
    found = _convert_other_format(strict_json.parse_strictly(texts.rest), texts)
    return [make_raw_document(value) for value in found]


def _convert_other_format(value: Any, texts: LongTexts) -> list[dict[str, Any]]:
    if open_webui.is_open_webui(value):
        if len(value) > MAX_CONVERSATIONS:
            raise InvalidDocumentError(
                sentence(
                    "The file holds {count:,} conversations, and at most {limit} are imported at once: "
                    "export them in several files",
                    count=len(value),
                    limit=MAX_CONVERSATIONS,
                )
            )
        return open_webui.convert_open_webui(texts.put_back(value))
    if not isinstance(value, dict):
        raise InvalidDocumentError(sentence("The file is not a Waymark export: it does not hold one JSON object."))
    if "format" not in value and isinstance(value.get("checkpoints"), dict):
        return [legacy.convert_legacy(texts.put_back(value))]
    raise InvalidDocumentError(sentence("is not {format!r}, the only one that can be read", format=waymark.FORMAT), "format")
