"""The ways in which input reaches a conversation, each with its limit."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field

from agent.settings import ThreadSettings
from agent.time_travel import excerpts
from checkpoints import Caller, CheckpointManager, Database, NewMessage, Run, StateError, Store, act_for
from checkpoints.interchange import reading, transfer, waymark
from checkpoints.people.members import Members
from checkpoints.values import files, limits, serde
from checkpoints.values.model import ThreadRole
from checkpoints.values.place_name import PlaceName
from components.page import PANELS, read_panels
from components.page_state import PageLocation
from components.replies import to_json
from components.services import Services
from components.workers.rendering import Renderer
from tests.agent.running import Only, Running, running, tool
from tests.attachments import png
from tests.checkpoints import shapes
from tests.checkpoints.conversations import new
from tests.checkpoints.interchange.test_reading import write_part
from tests.statements import record_statements

NO_WORKER = ("false",)  # a text that is not cheap is shown as it was written: rendering has tests of its own
Chunk = AIMessageChunk


class ScriptedModel(BaseChatModel):
    """Streams the next of its replies; after the last one, a word."""

    replies: list[list[Chunk]] = Field(default_factory=list)
    extra_body: dict[str, Any] | None = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> "ScriptedModel":  # type: ignore[override]
        return self

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(self, _: list[BaseMessage], *__: Any, **___: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self.replies.pop(0) if self.replies else [said("Yes."), END]:
            yield ChatGenerationChunk(message=chunk)


def said(text: str, **fields: Any) -> Chunk:
    return AIMessageChunk(content=text, **fields)


END = said("", response_metadata={"finish_reason": "stop"})
CALLS_END = said("", response_metadata={"finish_reason": "tool_calls"})


@dataclass
class Conversation:
    """A conversation that everything is offered to, and the services of a page that shows it."""

    chat: Running
    model: ScriptedModel
    services: Services
    result: list[str] = field(default_factory=lambda: ["sunny"])  # of the tool `look`

    async def ask(self, *replies: list[Chunk]) -> Run:
        self.model.replies[:] = replies
        return await self.end(await self.chat.send("And?"))

    async def end(self, run: Run) -> Run:
        """Return the run once it rests; the conversation may be another one since an import."""
        await self.chat.until(lambda: self.chat.runs.list_running_threads() == set())
        latest = self.chat.runs.get_latest_run(run.thread_id)
        assert latest is not None
        return latest

    def view(self) -> tuple[int, int]:
        """Show the whole page; return the statements and the characters that it took."""
        database = self.chat.store.database
        with record_statements(database) as statements, database.begin_read():  # one snapshot, as the server takes it
            shown = read_panels(PANELS, self.services, PageLocation(self.chat.thread_id, {}))
        return len(statements), len(to_json(shown).decode())


@asynccontextmanager
async def talking(database: Database | None = None) -> AsyncIterator[Conversation]:
    """Begin a conversation, in a database in memory if none is given."""
    model, result = ScriptedModel(), ["sunny"]
    look = tool("look", lambda: result[0])
    async with running(model, [look], time_travel="ask", database=database) as chat:
        with ThreadPoolExecutor(1) as pool:
            renderer = Renderer(NO_WORKER)
            services = Services(chat.store, chat.runs, chat.runner, chat.hub, pool, Only(model), renderer=renderer)
            await chat.say("Hello")
            yield Conversation(chat, model, services, result)
            services.close()


Offer = Callable[[Conversation, str, int], Awaitable[object]]


@dataclass(frozen=True)
class EntryPoint:
    """One way in. `offer` raises a `StateError` or returns a run that failed where the input is refused."""

    limit: int
    offer: Offer
    is_cut: bool = False  # input beyond the limit is cut to it, and not refused
    shown_limit: int = 0  # in the sentence, where it is another number

    @property
    def number(self) -> int:
        return self.shown_limit or self.limit


async def send_message(talk: Conversation, letter: str, size: int) -> object:
    return await talk.end(await talk.chat.send(letter * size))


async def attach(talk: Conversation, *contents: tuple[str, bytes]) -> object:
    attached = files.parse_files(contents)
    sent = await talk.chat.runner.send(talk.chat.thread_id, "See?", caller=Caller(), attachments=attached)
    return await talk.end(sent)


async def attach_files(talk: Conversation, _: str, size: int) -> object:
    return await attach(talk, *((f"{number}.txt", f"text {number}".encode()) for number in range(size)))


async def attach_image(talk: Conversation, _: str, size: int) -> object:
    return await attach(talk, ("wide.png", png(claims=(size, 1))))


async def attach_text(talk: Conversation, letter: str, size: int) -> object:
    text = letter.encode() * (size // len(letter.encode()))
    return await attach(talk, ("long.txt", text.ljust(size)))


async def let_somebody_in(_: Conversation, letter: str, size: int) -> object:
    """Let somebody into a conversation of several people: in the one of the others, nobody is told apart."""
    store = Store(Database.in_memory())
    store.database.separate_owners()
    with closing(store.database), act_for("ann"):
        name = f"a{letter * (size - 2)}z"
        return Members(store).add_member(store.create_thread().id, name, ThreadRole.EDITOR)


async def attach_together(talk: Conversation, letter: str, size: int) -> object:
    """Attach PDFs of so many bytes together, the first as large as one may be."""
    first = min(size, limits.MAX_BINARY_FILE_BYTES)
    sizes = [each for each in (first, size - first) if each]
    contents = [
        (f"{number}.pdf", b"%PDF-1.7\n".ljust(each, letter.encode()[:1])[:each]) for number, each in enumerate(sizes)
    ]
    return await attach(talk, *contents)


async def bring_conclusion(talk: Conversation, letter: str, size: int) -> object:
    note = excerpts.build_excerpt(
        excerpts.ExcerptRequest(f"a{letter * (size - 2)}z"[-size:]), PlaceName("branch", "B"), talk.chat.path()
    )
    return talk.chat.store.append(talk.chat.thread_id, [note])


async def bring_quote(talk: Conversation, letter: str, size: int) -> object:
    """Quote an answer so long that the whole note has so many characters. Signs of the note's fence would become more."""
    letter = letter.replace("<", "x")
    path = talk.chat.path()
    said = next(message for message in path if message.type == "ai")

    def build(text: str) -> NewMessage:
        quoted = replace(said, body=serde.to_body(AIMessage(text)))
        return excerpts.build_excerpt(excerpts.ExcerptRequest("", [said.id]), PlaceName("branch", "B"), [quoted])

    frame = len(build("az").body["data"]["content"]) - 2
    return talk.chat.store.append(talk.chat.thread_id, [build(f"a{letter * max(0, size - frame - 2)}z")])


async def bring_messages(talk: Conversation, _: str, size: int) -> object:
    store, thread = talk.chat.store, talk.chat.thread_id
    path = list(store.list_messages(thread))
    quoted = [replace(path[0], id=f"m{number}") for number in range(size)]
    request = excerpts.ExcerptRequest("", [message.id for message in quoted])
    return store.append(thread, [excerpts.build_excerpt(request, PlaceName("branch", "B"), quoted)])


async def tag(talk: Conversation, _: str, size: int) -> object:
    return talk.chat.store.tag_thread(talk.chat.thread_id, add=[f"tag {number}" for number in range(size)])


async def edit_message(talk: Conversation, letter: str, size: int) -> object:
    first = talk.chat.path()[0].id
    return await talk.end(await talk.chat.runner.edit(talk.chat.thread_id, first, letter * size, caller=Caller()))


async def answer_text(talk: Conversation, letter: str, size: int) -> object:
    text = f"a{letter * (size - 2)}z"[-size:]
    return await talk.ask([*(said(text[place : place + 10_000]) for place in range(0, size, 10_000)), END])


async def answer_reasoning(talk: Conversation, letter: str, size: int) -> object:
    thought = said("", additional_kwargs={"reasoning_content": letter * size})
    return await talk.ask([thought, said("Yes."), END])


def call(number: int, arguments: str = "{}", name: str = "look") -> Chunk:
    part = ToolCallChunk(name=name, args=arguments, id=f"call_{number}", index=number, type="tool_call_chunk")
    return said("", tool_call_chunks=[part])


async def answer_calls(talk: Conversation, _: str, size: int) -> object:
    return await talk.ask([*map(call, range(size)), CALLS_END])


async def answer_levels(talk: Conversation, _: str, size: int) -> object:
    arguments = '{"a":' * (size - 1) + "{}" + "}" * (size - 1)
    await talk.ask([call(0, arguments), CALLS_END])
    [result] = [message.langchain for message in talk.chat.path() if message.type == "tool"]
    return result if result.status == "error" else None  # type: ignore[attr-defined]


async def answer_values(talk: Conversation, _: str, size: int) -> object:
    """Answer with two calls that share the limit."""
    first, second = ({"a": [0] * (each - 2)} for each in (size // 2, size - size // 2))
    await talk.ask([call(0, json.dumps(first)), call(1, json.dumps(second)), CALLS_END])
    results = [message.langchain for message in talk.chat.path() if message.type == "tool"]
    return next((each for each in results if each.status == "error"), None)  # type: ignore[attr-defined]


async def answer_names(talk: Conversation, letter: str, size: int) -> object:
    return await talk.ask([call(0, name=letter * size), CALLS_END])


async def answer_usage(talk: Conversation, _: str, size: int) -> object:
    usage: Any = {"input_tokens": size, "output_tokens": 0, "total_tokens": size}
    return await talk.ask([said("Yes.", usage_metadata=usage), END])


async def return_result(talk: Conversation, letter: str, size: int) -> object:
    talk.result[0] = letter * size
    return await talk.ask([call(0), CALLS_END])


def change_settings(name: str, write: Callable[[str, int], str]) -> Offer:
    async def offer(talk: Conversation, letter: str, size: int) -> object:
        chosen = ThreadSettings().with_changes({name: write(letter, size)}, talk.services.models)
        return talk.chat.store.change_settings(talk.chat.thread_id, chosen.changes_since(ThreadSettings()))

    return offer


def write_body(letter: str, size: int) -> str:
    escaped = json.dumps(letter, ensure_ascii=False)[1:-1]
    return '{"a":"' + (escaped * size)[: (size - 8) // len(escaped) * len(escaped)].ljust(size - 8) + '"}'


async def rename(talk: Conversation, letter: str, size: int) -> object:
    return talk.chat.store.rename_thread(talk.chat.thread_id, letter * size)


async def save(talk: Conversation, letter: str, size: int) -> object:
    return talk.chat.store.save(talk.chat.thread_id, name=letter * size, description=letter * (size * 20))


async def describe(talk: Conversation, letter: str, size: int) -> object:
    return talk.chat.store.save(talk.chat.thread_id, description=letter * size)


async def name_file(talk: Conversation, letter: str, size: int) -> object:
    name = f"{letter * (size - 4)}.txt"
    assert len(files.clean_file_name(name)) <= limits.MAX_FILE_NAME_CHARS
    return await attach(talk, (name, b"text"))


async def answer_again(talk: Conversation, _: str, size: int) -> object:
    """Answer the first message on so many branches, the last time by a run."""
    store, thread = talk.chat.store, talk.chat.thread_id
    first = store.list_messages(thread)[0].id
    try:
        for number in range(size - 2):
            store.fork(thread, first)
            store.append(thread, new("", f"Answer {number}")[1:])
        store.fork(thread, first)
        return await talk.end(await talk.chat.runner.retry(thread, caller=Caller()))
    except StateError:
        store.undo(thread)  # a branch that ends here cannot go on
        raise


async def save_state(talk: Conversation, _: str, size: int) -> object:
    """Save a state with a message of so many values through the library, and as many in its further keys."""
    message = HumanMessage("x", additional_kwargs={"row": [0] * (size - 6)})
    assert limits.count_values(serde.to_body(message), 10**6) == size
    messages = [*(each.langchain for each in talk.chat.path()), message]
    return CheckpointManager(talk.chat.store, talk.chat.thread_id).save_checkpoint(
        {"messages": messages, "row": [0] * (size - 2)}
    )


def import_shape(write: Callable[[int], str]) -> Offer:
    async def offer(talk: Conversation, _: str, size: int) -> object:
        receipt = transfer.import_thread(talk.chat.store, reading.read_document(write(size)))
        talk.chat.thread_id = receipt.result
        return receipt

    return offer


def write_contents(parts: int) -> str:
    """Answers whose contents have so many parts together."""
    counts = [min(4_000, parts - start) for start in range(0, parts, 4_000)]
    return shapes.following([AIMessage([{"type": "text", "text": "x"}] * count) for count in counts])


def write_settings(levels: int) -> str:
    """A document with settings that make it so deep."""
    value: Any = 1
    for _ in range(levels - 3):
        value = [value]
    return seal({**json.loads(shapes.marked([])), "thread": {"title": "Deep", "settings": {"a": value}}})


def write_objects(count: int) -> str:
    """A document with so many objects and lists. It is no entry point: a conversation that goes on has more."""

    def write(sizes: list[int]) -> str:
        return shapes.following([HumanMessage("x", additional_kwargs={"row": [{}] * size}) for size in sizes])

    sizes = [19_000] * (count // 19_000) + [count % 19_000]
    written = write(sizes)
    sizes[0] -= written.count("{") + written.count("[") - count
    return write(sizes)


def write_title(chars: int) -> str:
    return seal({**json.loads(shapes.marked([])), "thread": {"title": "x" * chars}})


def seal(made: dict[str, Any]) -> str:
    return waymark.write_document(made).text


ENTRY_POINTS = {
    "a message": EntryPoint(limits.MAX_MESSAGE_CHARS, send_message),
    "a changed message": EntryPoint(limits.MAX_MESSAGE_CHARS, edit_message),
    "files": EntryPoint(limits.MAX_FILES, attach_files),
    "files together": EntryPoint(limits.MAX_FILES_BYTES, attach_together, shown_limit=limits.MAX_FILES_BYTES // 10**6),
    "a conclusion of a branch": EntryPoint(excerpts.MAX_CONCLUSION_CHARS, bring_conclusion),
    "a note from another branch": EntryPoint(excerpts.MAX_EXCERPT_CHARS, bring_quote),
    "quoted messages": EntryPoint(excerpts.MAX_EXCERPT_MESSAGES, bring_messages),
    "pixels": EntryPoint(limits.MAX_PIXELS, attach_image, shown_limit=limits.MAX_PIXELS // 10**6),
    "a text file": EntryPoint(limits.MAX_TEXT_FILE_BYTES, attach_text, shown_limit=limits.MAX_TEXT_FILE_BYTES // 10**6),
    "tags": EntryPoint(limits.MAX_TAGS_OF_THREAD, tag),
    "a person": EntryPoint(limits.MAX_MEMBER_NAME_CHARS, let_somebody_in),
    "instructions": EntryPoint(
        limits.MAX_INSTRUCTIONS_CHARS, change_settings("instructions", lambda letter, size: f"a{letter * (size - 2)}z")
    ),
    "an extra body": EntryPoint(limits.MAX_EXTRA_BODY_CHARS, change_settings("extra_body", write_body)),
    "a title": EntryPoint(limits.MAX_NAME_CHARS, rename, is_cut=True),
    "a file's name": EntryPoint(limits.MAX_FILE_NAME_CHARS, name_file, is_cut=True),
    "a description": EntryPoint(limits.MAX_DESCRIPTION_CHARS, describe, is_cut=True),
    "a checkpoint": EntryPoint(limits.MAX_NAME_CHARS, save, is_cut=True),
    "an answer": EntryPoint(limits.MAX_ANSWER_CHARS, answer_text),
    "the reasoning of an answer": EntryPoint(
        limits.MAX_ANSWER_CHARS - 4, answer_reasoning, shown_limit=limits.MAX_ANSWER_CHARS
    ),
    "calls": EntryPoint(limits.MAX_CALLS, answer_calls),
    "arguments": EntryPoint(limits.MAX_ARGUMENT_LEVELS, answer_levels),
    "values in arguments": EntryPoint(limits.MAX_ARGUMENT_VALUES, answer_values),
    "a provider's name": EntryPoint(limits.MAX_LABEL_CHARS, answer_names, is_cut=True),
    "tokens": EntryPoint(limits.MAX_TOKENS, answer_usage, is_cut=True),
    "a result": EntryPoint(limits.MAX_RESULT_CHARS, return_result, is_cut=True),
    "answers to one message": EntryPoint(limits.MAX_ALTERNATIVES, answer_again),
    "a file with alternatives": EntryPoint(limits.MAX_ALTERNATIVES, import_shape(shapes.split)),
    "a file with calls": EntryPoint(limits.MAX_CALLS, import_shape(lambda calls: shapes.calling(calls, 1))),
    "a file with values": EntryPoint(limits.MAX_PART_VALUES, import_shape(lambda values: write_part("messages", values))),
    "a file with parts": EntryPoint(limits.MAX_DOCUMENT_PARTS, import_shape(write_contents)),
    "a saved state": EntryPoint(limits.MAX_SAVED_VALUES, save_state),
    "a deep file": EntryPoint(limits.MAX_FILE_LEVELS, import_shape(write_settings)),
    "a file with a title": EntryPoint(limits.MAX_NAME_CHARS, import_shape(write_title)),
}
