"""Time travel in a terminal: the real runner, graph and store (in memory), with the model of the settings.

Two functions read and write lines, so a pipe can drive it.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool

from agent.context.numbering import prefix_number
from agent.context.tokens import estimate_stored_tokens
from agent.events import MessageAdded, RunFinished
from agent.graph.graph import build_graph
from agent.graph.state import Limits
from agent.run.blocking import BlockingPool
from agent.run.building import build_runner
from agent.run.hub import RunHub
from agent.run.parts import RunParts
from agent.run.runner import Runner
from agent.settings import ModelCatalog
from agent.time_travel.policy import TimeTravelEvent
from agent.tools.calculator import calculator
from agent.tools.read_file import make_read_file_tool
from checkpoints import Caller, Database, Message, Runs, RunState, Store, pluralize
from checkpoints.values.text import shorten_line

# Returns a line, or None at the end.
ReadLine = Callable[[], str | None]
WriteLine = Callable[[str], None]
# Limits a message in the overview.
MAX_SHOWN_CHARS = 200
LOGBOOK_DAYS = 380
LOGBOOK_NAME = "logbook.txt"
LOGBOOK_FACTS = {
    143: "a storm broke the great lamp at four in the morning; nobody was hurt",
    151: "Ingrid Sorensen repaired the great lamp in six hours; the repair cost 412 crowns",
}
QUESTION = (
    f"Read {LOGBOOK_NAME} with read_file, all of it. On which day did the storm break the great lamp, who repaired "
    "the great lamp, and what did the repair cost?"
)
BACK = (
    "Now use goto to go back to msg_0, and carry over the days, the name and the cost that you found, and that the file "
    "need not be read again: it takes up too much room."
)
AGAIN = "From what you know, without any tool: who repaired the great lamp, and what did the repair cost?"
INTRODUCTION = """\
Say something, and later: go back to msg_0 and try something else.
/state shows what the agent can still see, /reset begins anew, /quit ends."""


@dataclass
class TerminalChat:
    """A conversation, and the agent's moves in it."""

    store: Store
    hub: RunHub
    runner: Runner
    loop: asyncio.Runner
    write: WriteLine
    moves: list[TimeTravelEvent]
    thread_id: str = ""
    # The last turn's messages, including messages that a move removed.
    turn_messages: list[Message] = field(default_factory=list)

    def reset(self) -> None:
        self.thread_id = self.store.create_thread().id
        self.moves.clear()

    def load_path(self) -> list[Message]:
        return self.store.list_messages(self.thread_id)

    def run_turn(self, text: str) -> bool:
        """Run one turn and print its events. Return whether it reached its end."""
        return self.loop.run(self._follow_turn(text))

    async def _follow_turn(self, text: str) -> bool:
        self.turn_messages, printed_count = [], len(self.moves)
        async with self.hub.subscribe(self.thread_id) as following:
            await self.runner.send(self.thread_id, text, caller=Caller())
            while True:
                for event in await following.receive():
                    while printed_count < len(self.moves):
                        self.write(_format_move(self.moves[printed_count]))
                        printed_count += 1
                    if isinstance(event, MessageAdded):
                        self.turn_messages.append(event.message)
                        self._print_message(event.message)
                    if isinstance(event, RunFinished):
                        if event.error:
                            self.write(event.error)
                        return event.state is RunState.DONE

    def _print_message(self, stored: Message) -> None:
        message = stored.langchain
        if isinstance(message, AIMessage):
            if message.text:
                self.write(f"agent: {message.text}")
            for call in message.tool_calls:
                self.write(f"  -> {call['name']}({shorten_line(str(call['args']), MAX_SHOWN_CHARS)})")
        if isinstance(message, ToolMessage):
            self.write(f"  <- {len(message.text):,} characters")


@contextmanager
def _open_chat(catalog: ModelCatalog, tools: Sequence[BaseTool], write: WriteLine) -> Iterator[TerminalChat]:
    database, moves = Database.in_memory(), list[TimeTravelEvent]()
    store, hub = Store(database), RunHub()
    with ThreadPoolExecutor(2) as pool, asyncio.Runner() as loop:
        parts = RunParts(
            store=store,
            runs=Runs(store),
            hub=hub,
            graph=build_graph(tools),
            catalog=catalog,
            blocking=BlockingPool(pool),
            limits=Limits(),
            default_policy="allow",
            on_time_travel=[moves.append],
        )
        chat = TerminalChat(store, hub, build_runner(parts), loop, write, moves)
        chat.reset()
        try:
            yield chat
        finally:
            loop.run(chat.runner.close())
            database.close()


def demonstrate_goto(catalog: ModelCatalog, read: ReadLine, write: WriteLine) -> bool:
    """Talk with an agent that may go back, until the input ends."""
    with _open_chat(catalog, [calculator], write) as talk:
        write(f"Model: {catalog.default_spec}. {INTRODUCTION}")
        while (line := read()) is not None and line.strip() != "/quit":
            match line.strip():
                case "":
                    continue
                case "/state":
                    write("\n".join(map(_format_message, talk.load_path())) or "(nothing was said yet)")
                case "/reset":
                    talk.reset()
                    write("A new conversation.")
                case text:
                    talk.run_turn(text)
            write(f"({pluralize(len(talk.load_path()), 'message')}, {pluralize(len(talk.moves), 'move')})")
        return True


def demonstrate_compaction(catalog: ModelCatalog, _: ReadLine, write: WriteLine) -> bool:
    """Read a long file, go back with its facts, and answer from the note alone. Return whether all of it worked."""
    with TemporaryDirectory(prefix="waymark-") as folder:
        (Path(folder) / LOGBOOK_NAME).write_text(make_logbook(), encoding="utf-8")
        with _open_chat(catalog, [make_read_file_tool(Path(folder))], write) as talk:
            size = f"{pluralize(LOGBOOK_DAYS, 'line')} and {len(make_logbook()):,} characters"
            write(f"Model: {catalog.default_spec}. The file has {size}.")
            return _run_demonstration(talk, write)


def _run_demonstration(chat: TerminalChat, write: WriteLine) -> bool:
    requests: list[int] = []
    for text in (QUESTION, BACK, AGAIN):
        write(f"\nyou: {text}")
        if not chat.run_turn(text):
            return False
        requests.append(_count_request_tokens(chat))
    before, after = requests[0], requests[-1]
    again = any(message.type == "tool" for message in chat.turn_messages)
    write(f"\nTokens of a request before going back: {before:,}; after it: {after:,}; {1 - after / before:.0%} saved.")
    write("The file was read a second time." if again else "The file was not read again.")
    if not chat.moves:
        write("The agent did not go back.")
    return bool(chat.moves) and not again


def _count_request_tokens(chat: TerminalChat) -> int:
    """Return the tokens of the last request: the provider's count, or else a rough estimate."""
    answer = next(message.langchain for message in reversed(chat.turn_messages) if message.type == "ai")
    usage = answer.usage_metadata if isinstance(answer, AIMessage) else None
    return usage["input_tokens"] if usage else sum(map(estimate_stored_tokens, chat.load_path()[:-1]))


def make_logbook() -> str:
    return (
        "\n".join(
            f"Day {day:03}: {LOGBOOK_FACTS.get(day) or _describe_ordinary_day(day)}." for day in range(1, LOGBOOK_DAYS + 1)
        )
        + "\n"
    )


def _describe_ordinary_day(day: int) -> str:
    wind = ("north", "west", "south", "east")[day % 4]
    return f"wind from the {wind}, force {day % 7 + 1}; barometer {990 + day * 7 % 40}; {day % 5} boats passed before noon"


def _format_move(event: TimeTravelEvent) -> str:
    return f"  <= went back to msg_{event.target_position}: {pluralize(event.removed_count, 'message')} removed"


def _format_message(message: Message) -> str:
    return prefix_number(message.depth, f"{message.type}: {shorten_line(str(message.langchain.text), MAX_SHOWN_CHARS)}")


DEMONSTRATIONS: Mapping[str, Callable[[ModelCatalog, ReadLine, WriteLine], bool]] = {
    "goto": demonstrate_goto,
    "compaction": demonstrate_compaction,
}
