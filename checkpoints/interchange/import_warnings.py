"""The sentences about the parts that an import leaves out or changes."""

from collections.abc import Collection, Sequence

from ..values import limits
from ..values.graph_state import INPUT_CHANNEL, Reference, is_own_channel, read_kind, unwrap_snapshot
from ..values.model import Json, MessageStatus
from ..values.sentence import plural_sentence, sentence
from .image_parts import OMITTED_IMAGES
from .waymark import Document, LeftOut

_MAX_SHOWN_NAMES = 8  # of channels
_MAX_SHOWN_NAME_CHARS = 40


def list_warnings(doc: Document, graphs: Collection[str] = ()) -> list[str]:
    """Return a sentence for each thing in a document that its import leaves out or changes. `graphs` are offered here."""
    found = _list_changes(doc)
    if doc.left_out.messages or doc.left_out.checkpoints:
        found.append(_describe_left_out(doc.left_out))
    if doc.thread.without_states:
        found.append(sentence("The states of its graph are not in it: a graph begins anew there."))
    left_out = {(part.namespace, name) for part in doc.states for name in part.left_out}
    if ("", INPUT_CHANNEL) in left_out:
        found.append(sentence("A question in it cannot be answered: the input of its function is not plain JSON."))
    if names := sorted(_name_channel(*each) for each in left_out if each[1] != INPUT_CHANNEL):
        found.append(
            sentence("Values of its graph that are not plain JSON are not in it: {names}.", names=_join_names(names))
        )
    channels = {name for part in doc.states for name, value in part.values.items() if _is_own(name, value)}
    channels |= {write.channel for write in doc.state_writes if not is_own_channel(write.channel)}
    if names := sorted(channels):
        found.append(sentence("Its graph goes on with the values in it: {names}.", names=_join_names(names)))
    if graph := doc.thread.find_offered_graph(graphs):
        found.append(sentence("As a new conversation, the graph {name} answers it.", name=graph))
    elif named := doc.thread.settings.get("graph"):
        name = str(named)[:_MAX_SHOWN_NAME_CHARS]
        found.append(
            sentence(
                "Its graph {name} is not offered here: as a new conversation, the built-in agent answers it.", name=name
            )
        )
    if doc.thread.settings.keys() - {"graph"}:
        found.append(sentence("The settings in it are not taken over."))
    return found


def _name_channel(namespace: str, name: str) -> str:
    """Return the name of a channel, behind the nodes of the subgraphs that it is in."""
    nodes = [each.partition(":")[0] for each in namespace.split("|") if each]
    return " › ".join([*nodes, name])


def _is_own(name: str, reference: Reference) -> bool:
    """Return whether a channel is the author's, and not the messages or one of LangGraph's."""
    return read_kind(unwrap_snapshot(reference)) != "m" and not is_own_channel(name)


def _join_names(names: Sequence[str]) -> str:
    shown = [name[:_MAX_SHOWN_NAME_CHARS] for name in names[:_MAX_SHOWN_NAMES]]
    return ", ".join([*shown, "…"] if len(names) > len(shown) else shown)


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
    count = metadata.get(OMITTED_IMAGES) if isinstance(metadata, dict) else None
    return count if isinstance(count, int) and 0 < count < limits.MAX_DOCUMENT_MESSAGES else 0
