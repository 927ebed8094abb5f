"""The sentences about what an import leaves out or changes."""

from .. import limits
from ..model import Json, MessageStatus
from ..sentence import plural_sentence, sentence
from . import open_webui
from .waymark import Document, LeftOut


def list_warnings(doc: Document) -> list[str]:
    """Return a sentence for each thing in a document that its import leaves out or changes."""
    found = _list_changes(doc)
    if doc.left_out.messages or doc.left_out.checkpoints:
        found.append(_describe_left_out(doc.left_out))
    if doc.thread.without_states:
        found.append(sentence("The states of its graph are not in it: a graph begins anew there."))
    if doc.thread.settings:
        found.append(sentence("The settings in it are not taken over."))
    return found


def _list_changes(doc: Document) -> list[str]:
    system = plural_sentence(
        "It holds {count:,} system message: kept as notes, they never become instructions.",
        "It holds {count:,} system messages: kept as notes, they never become instructions.",
        count=sum(part.message["type"] == "system" for part in doc.messages),
    )
    images = plural_sentence(
        "{count:,} image in it cannot be imported: a line in the text says where.",
        "{count:,} images in it cannot be imported: a line in the text says where.",
        count=sum(_count_omitted_images(part.message) for part in doc.messages),
    )
    partial = plural_sentence(
        "{count:,} message in it was cut off, and will be marked so.",
        "{count:,} messages in it were cut off, and will be marked so.",
        count=sum(part.status is MessageStatus.PARTIAL for part in doc.messages),
    )
    return [each for each in (system, images, partial) if each.values["count"]]


def _describe_left_out(left_out: LeftOut) -> str:
    counts = [
        plural_sentence("{count:,} message", "{count:,} messages", count=left_out.messages),
        plural_sentence("{count:,} checkpoint", "{count:,} checkpoints", count=left_out.checkpoints),
    ]
    parts = [each for each in counts if each.values["count"]]
    return plural_sentence(
        "It holds {parts} that nothing shows: it is left out.",
        "It holds {parts} that nothing shows: they are left out.",
        count=left_out.messages + left_out.checkpoints,
        parts=parts[0] if len(parts) == 1 else sentence("{one} and {other}", one=parts[0], other=parts[1]),
    )


def _count_omitted_images(body: Json) -> int:
    metadata = body["data"].get("response_metadata")
    count = metadata.get(open_webui.OMITTED_IMAGES) if isinstance(metadata, dict) else None
    return count if isinstance(count, int) and 0 < count < limits.MAX_DOCUMENT_MESSAGES else 0
