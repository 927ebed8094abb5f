"""Reading of a file: an export of Waymark, of its older form or of Open WebUI becomes documents, or is refused."""

from typing import Any

from ..errors import InvalidDocumentError
from ..limits import MAX_CONVERSATIONS
from ..progress import Progress, Report, StepCounter, ignore_progress
from ..sentence import sentence
from . import legacy, open_webui, strict_json, waymark
from .document_checks import check_document
from .import_limits import check_byte_count
from .long_texts import LongTexts, PutBack
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
    found = _convert_to_waymark(strict_json.parse_strictly(texts.rest), texts.put_back)
    messages = StepCounter(report, sentence("Checking"), sum(_count_messages(value) for value in found), "messages")
    return [check_document(value, messages.add, texts.put_back) for value in found]


def _count_messages(value: dict[str, Any]) -> int:
    """Count the messages of a document that is not checked yet."""
    messages = value.get("messages")
    return len(messages) if isinstance(messages, list) else 0


def _convert_to_waymark(value: Any, put_back: PutBack) -> list[dict[str, Any]]:
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
        return open_webui.convert_open_webui(put_back(value))
    if not isinstance(value, dict):
        raise InvalidDocumentError(sentence("The file is not a Waymark export: it does not hold one JSON object."))
    if "format" not in value and isinstance(value.get("checkpoints"), dict):
        return [legacy.convert_legacy(put_back(value))]
    if value.get("format") != waymark.FORMAT:
        raise InvalidDocumentError(
            sentence("is not {format!r}, the only one that can be read", format=waymark.FORMAT), "format"
        )
    return [value]
