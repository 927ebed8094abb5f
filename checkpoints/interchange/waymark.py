"""The export format waymark/1 as values. A field that does not fit is refused with one sentence that names it."""

import binascii
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, PrivateAttr, dataclasses

from ..values import files, serde
from ..values.errors import InvalidDocumentError, InvalidFileError
from ..values.files import File
from ..values.graph_state import read_kind, unwrap_snapshot
from ..values.limits import (
    MAX_DOCUMENT_MESSAGES,
    MAX_DOCUMENT_STATES,
    MAX_NUMBER,
    MAX_TAGS_OF_THREAD,
    MAX_TOKENS,
)
from ..values.model import UNTITLED, Actor, MessageStatus
from ..values.sentence import sentence
from .part_types import STRICT, Agent, Description, Id, Name, TagName, Time, Version

FORMAT = "waymark/1"
UNHASHED = frozenset({"exported_at", "sha256"})  # so that two exports of one conversation have equal hashes


class _StrictModel(BaseModel):
    model_config = STRICT


class ThreadPart(_StrictModel):
    title: Annotated[Name, AfterValidator(lambda title: title or UNTITLED)]
    settings: dict[str, Any] = {}
    pinned: bool = False
    archived: bool = False
    without_states: bool = False  # where it stands, its graph has further channels, which are not in the file
    tags: Annotated[list[TagName], Field(max_length=MAX_TAGS_OF_THREAD)] = []

    def find_offered_graph(self, graphs: Collection[str]) -> str:
        """Return the graph that answered the conversation, if it is among these; empty otherwise."""
        graph = self.settings.get("graph")
        return graph if isinstance(graph, str) and graph in graphs else ""


@dataclasses.dataclass(slots=True, config=STRICT)
class MessagePart:  # no model: it would be three times as large, and there may be 100,000
    id: Id
    parent_id: Id | None
    agent: Agent
    status: MessageStatus
    created_at: Time
    message: dict[str, Any]  # as in serde: {"type": …, "data": {…}}
    hash: str


class BranchPart(_StrictModel):
    id: Id
    name: Annotated[Name, AfterValidator(lambda name: name or "Branch")]
    head: Id | None
    state: Agent | None = None  # of a graph


class CheckpointPart(_StrictModel):
    id: Id
    name: Name
    description: Description = ""
    created_by: Actor = "user"
    timestamp: Time
    message_id: Id
    message_count: int
    branch: Id
    tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)] | None = None
    pinned: bool = False
    detached: bool = False  # listed although it is not on its branch's path
    extra: dict[str, Any] = {}
    state: Agent | None = None  # of a graph


class FilePart(_StrictModel):
    """An attached file. The messages that refer to it contain its name."""

    hash: str
    media_type: str
    data: str  # base64


@dataclasses.dataclass(slots=True, config=STRICT)
class StatePart:
    """The state of a graph after a step: see `graph_state`.

    A reference in `values` is a small scalar that stands for itself, `["v", index]` of a value in `state_values`,
    `["r", [[first, last], …]]` of a list's items there, `["m", id]` of the last message, or `["d", reference]` of the
    snapshot of a DeltaChannel.
    """

    id: Agent
    namespace: Agent
    parent: Agent | None
    run_id: Agent
    message: Id | None  # that this state is found for
    v: Annotated[int, Field(ge=1, le=4)]
    ts: Agent
    source: Literal["input", "loop", "update", "fork"]
    step: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
    parents: dict[Agent, Agent]
    updated: list[Agent] | None
    resumed: bool
    versions: dict[Agent, Version]
    seen: dict[Agent, dict[Agent, Version]]
    values: dict[Agent, Any]
    left_out: list[Agent]  # channels whose values are not plain JSON


@dataclasses.dataclass(slots=True, config=STRICT)
class ValuePart:
    """A value of a channel, or an item of a list, as a text of JSON: the order of its keys is a part of it.

    In a typed one, an object with the only key `@message` is a message, one with `@question` a question of LangGraph,
    and one with `@send` a task of a `Send`.
    """

    json: str
    typed: bool = False


@dataclasses.dataclass(slots=True, config=STRICT)
class WritePart:
    """What a task has written since a state, whose step waits for a person. `json` is the text of a typed value."""

    namespace: Agent
    state: Agent
    task: Agent
    path: Agent
    position: Annotated[int, Field(ge=-100, le=MAX_NUMBER)]
    channel: Agent
    json: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The parts of a file that nothing shows, in numbers. An import leaves them out, because no export would have them."""

    messages: int = 0
    checkpoints: int = 0


class Document(_StrictModel):
    """A complete conversation: every message once, parents before children, and every attached file once."""

    format: Literal["waymark/1"]
    exported_at: Time
    thread: ThreadPart
    messages: Annotated[list[MessagePart], Field(max_length=MAX_DOCUMENT_MESSAGES)]
    branches: Annotated[list[BranchPart], Field(min_length=1)]
    checkpoints: list[CheckpointPart]
    active: Id  # the id of the current branch
    files: list[FilePart] = []
    states: Annotated[list[StatePart], Field(max_length=MAX_DOCUMENT_STATES)] = []  # parents first
    state_values: list[ValuePart] = []
    state_writes: Annotated[list[WritePart], Field(max_length=MAX_DOCUMENT_STATES)] = []
    sha256: str
    _left_out: LeftOut = PrivateAttr(default=LeftOut())

    @property
    def left_out(self) -> LeftOut:
        return self._left_out

    @property
    def active_branch(self) -> BranchPart:
        return next(branch for branch in self.branches if branch.id == self.active)

    @property
    def active_head(self) -> str | None:
        return self.active_branch.head

    @cached_property
    def files_by_hash(self) -> dict[str, File]:
        """The files by hash. Raises `InvalidDocumentError` for a file that cannot be attached."""
        return dict(_decode_file(part, f"files[{index}]") for index, part in enumerate(self.files))

    def drop_unreachable(self) -> "Document":
        """Return the document without the messages and checkpoints that nothing shows, and without their files.

        Shown are the paths of the branches, the checkpoints on them, and the detached checkpoints with their paths.
        """
        parents = {part.id: part.parent_id for part in self.messages}
        paths = find_reachable(parents, {branch.head for branch in self.branches})
        checkpoints = [part for part in self.checkpoints if part.detached or part.message_id in paths]
        reached = paths | find_reachable(parents, {part.message_id for part in checkpoints} - paths)
        messages = [part for part in self.messages if part.id in reached]
        contents = [part.message["data"].get("content") for part in messages]
        named = {part["file"] for content in contents for part in files.find_file_parts(content)}
        attached = [part for part in self.files if part.hash in named]
        states = [part for part in self.states if all(each in reached for each in list_messages(part))]
        ids = {(part.namespace, part.id) for part in states}
        writes = [part for part in self.state_writes if (part.namespace, part.state) in ids]
        kept = {"messages": messages, "checkpoints": checkpoints, "files": attached, "states": states}
        kept |= {"state_writes": writes}
        made = self.model_copy(update=kept)
        made._left_out = LeftOut(len(self.messages) - len(messages), len(self.checkpoints) - len(checkpoints))
        return made

    def current_messages(self) -> list[MessagePart]:
        """Return the messages of the current path."""
        by_id = {message.id: message for message in self.messages}
        found, identifier = [], self.active_head
        while identifier is not None:
            found.append(by_id[identifier])
            identifier = by_id[identifier].parent_id
        return found[::-1]


def find_reachable(parents: Mapping[str, str | None], heads: Iterable[str | None]) -> set[str]:
    """Return the ids of the messages on the paths to these heads."""
    reached: set[str] = set()
    for identifier in heads:
        while identifier is not None and identifier not in reached:
            reached.add(identifier)
            identifier = parents[identifier]  # noqa: PLW2901
    return reached


def list_messages(state: StatePart) -> Iterator[str]:
    """Yield the ids of the messages that a state names."""
    if state.message is not None:
        yield state.message
    for reference in map(unwrap_snapshot, state.values.values()):
        if read_kind(reference) == "m" and reference[1] is not None:
            yield reference[1]


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """The text of a document, and its parts by name: canonical JSON of each value, and of each item of its lists."""

    text: str
    parts: Mapping[str, str | Sequence[str]]

    def list_texts(self, *names: str) -> Sequence[str]:
        """List the values and items of these parts, or of all."""
        found = [self.parts[name] for name in names or self.parts if name in self.parts]
        return [text for part in found for text in ([part] if isinstance(part, str) else part)]


def write_document(document: dict[str, Any], texts: Mapping[str, Sequence[str]] = MappingProxyType({})) -> WrittenDocument:
    """Write a document and its hash. Each part is encoded once, for both, unless `texts` has the items of its list."""
    named = {name: value for name, value in document.items() if name != "sha256"}
    parts = {name: texts[name] if name in texts else _write_part(value) for name, value in named.items()}
    members = {name: part if isinstance(part, str) else f"[{','.join(part)}]" for name, part in parts.items()}
    hashed = sorted((name, text) for name, text in members.items() if name not in UNHASHED)
    members["sha256"] = serde.to_canonical(serde.hash_pieces(serde.iterate_object(hashed)))
    return WrittenDocument("".join(serde.iterate_object(members.items())), parts)


def _write_part(value: Any) -> str | Sequence[str]:
    return list(map(serde.to_canonical, value)) if isinstance(value, list) else serde.to_canonical(value)


def build_json_schema() -> dict[str, Any]:
    """Build the format's JSON Schema, for docs/. It cannot express chains, references and hashes: see document_checks."""
    made = Document.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": f"A Waymark export, {FORMAT}"}


def _decode_file(part: FilePart, field: str) -> tuple[str, File]:
    try:
        file = files.parse_file("file", files.decode_base64(part.data))
    except (InvalidFileError, binascii.Error, ValueError) as error:
        raise InvalidDocumentError(sentence("is not a file that can be attached"), f"{field}.data") from error
    if (file.hash, file.media_type) != (part.hash, part.media_type):
        raise InvalidDocumentError(sentence("does not fit the data: the file is damaged or was edited"), f"{field}.hash")
    return file.hash, file
