"""Time travel in a terminal: the real runner, graph and store (in memory), with whatever model the settings name.

What is written and read goes through two functions, so that a pipe can drive it.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool

from agent.choice import Offer
from agent.context import stored_tokens
from agent.events import MessageAdded, RunFinished
from agent.graph import build_graph
from agent.hub import RunHub
from agent.numbering import numbered
from agent.runner import Runner
from agent.state import Limits
from agent.tools.calculator import calculator
from agent.tools.read_file import read_file_tool
from agent.travelling import TimeTravelEvent
from checkpoints import By, Database, Message, Runs, RunState, Store, counted

Read = Callable[[], str | None]  # a line; None at the end
Write = Callable[[str], None]
LONGEST_SHOWN = 200  # characters of a message in the overview
DAYS = 380
LOG = "logbook.txt"
FACTS = {
    143: "a storm broke the great lamp at four in the morning; nobody was hurt",
    151: "Ingrid Sorensen repaired the great lamp in six hours; the repair cost 412 crowns",
}
QUESTION = (
    f"Read {LOG} with read_file, all of it. On which day did the storm break the great lamp, who repaired the great lamp, "
    "and what did the repair cost?"
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
class Talk:
    """One conversation, and the moves that the agent has made in it."""

    store: Store
    hub: RunHub
    runner: Runner
    loop: asyncio.Runner
    write: Write
    moves: list[TimeTravelEvent]
    thread_id: str = ""
    added: list[Message] = field(default_factory=list)  # by the last turn, those among them that left again

    def reset(self) -> None:
        self.thread_id = self.store.create_thread().id
        self.moves.clear()

    def path(self) -> list[Message]:
        return self.store.messages(self.thread_id)

    def say(self, text: str) -> bool:
        """One turn, told as it goes; whether it came to its end."""
        return self.loop.run(self._turn(text))

    async def _turn(self, text: str) -> bool:
        self.added, told = [], len(self.moves)
        async with self.hub.follow(self.thread_id) as following:
            await self.runner.send(self.thread_id, text, by=By())
            while True:
                for event in await following.take():
                    while told < len(self.moves):
                        self.write(_move(self.moves[told]))
                        told += 1
                    if isinstance(event, MessageAdded):
                        self.added.append(event.message)
                        self._tell(event.message)
                    if isinstance(event, RunFinished):
                        if event.error:
                            self.write(event.error)
                        return event.state is RunState.DONE

    def _tell(self, stored: Message) -> None:
        message = stored.langchain
        if isinstance(message, AIMessage):
            if message.text:
                self.write(f"agent: {message.text}")
            for call in message.tool_calls:
                self.write(f"  -> {call['name']}({_shortened(str(call['args']))})")
        if isinstance(message, ToolMessage):
            self.write(f"  <- {len(message.text):,} characters")


@contextmanager
def _talk(models: Offer, tools: Sequence[BaseTool], write: Write) -> Iterator[Talk]:
    database, moves = Database.in_memory(), list[TimeTravelEvent]()
    store, hub = Store(database), RunHub()
    with ThreadPoolExecutor(2) as pool, asyncio.Runner() as loop:
        heard: list[Callable[[TimeTravelEvent], None]] = [moves.append]
        runs, graph = Runs(store), build_graph(tools)
        make = partial(Runner, store, runs, hub, graph, models, pool=pool, limits=Limits(), time_travel="allow")
        talk = Talk(store, hub, make(on_time_travel=heard), loop, write, moves)
        talk.reset()
        try:
            yield talk
        finally:
            loop.run(talk.runner.close())
            database.close()


def goto(models: Offer, read: Read, write: Write) -> bool:
    """Talk with an agent that may go back, until the input ends."""
    with _talk(models, [calculator], write) as talk:
        write(f"Model: {models.default}. {INTRODUCTION}")
        while (line := read()) is not None and line.strip() != "/quit":
            match line.strip():
                case "":
                    continue
                case "/state":
                    write("\n".join(map(_overview, talk.path())) or "(nothing was said yet)")
                case "/reset":
                    talk.reset()
                    write("A new conversation.")
                case text:
                    talk.say(text)
            write(f"({counted(len(talk.path()), 'message')}, {counted(len(talk.moves), 'move')})")
        return True


def compaction(models: Offer, _: Read, write: Write) -> bool:
    """Read a long file, go back with what it said, and answer from that alone. Whether all of it worked."""
    with TemporaryDirectory(prefix="waymark-") as folder:
        (Path(folder) / LOG).write_text(logbook())
        with _talk(models, [read_file_tool(Path(folder))], write) as talk:
            write(f"Model: {models.default}. The file has {counted(DAYS, 'line')} and {len(logbook()):,} characters.")
            return _compacted(talk, write)


def _compacted(talk: Talk, write: Write) -> bool:
    requests: list[int] = []
    for text in (QUESTION, BACK, AGAIN):
        write(f"\nyou: {text}")
        if not talk.say(text):
            return False
        requests.append(_asked_tokens(talk))
    before, after = requests[0], requests[-1]
    again = any(message.type == "tool" for message in talk.added)
    write(f"\nTokens of a request before going back: {before:,}; after it: {after:,}; {1 - after / before:.0%} saved.")
    write("The file was read a second time." if again else "The file was not read again.")
    if not talk.moves:
        write("The agent did not go back.")
    return bool(talk.moves) and not again


def _asked_tokens(talk: Talk) -> int:
    """How much was asked with for the last answer: as the provider counted, or where it did not, by a rough estimate."""
    answer = next(message.langchain for message in reversed(talk.added) if message.type == "ai")
    usage = answer.usage_metadata if isinstance(answer, AIMessage) else None
    return usage["input_tokens"] if usage else sum(map(stored_tokens, talk.path()[:-1]))


def logbook() -> str:
    """A long file in which little matters."""
    return "\n".join(f"Day {day:03}: {FACTS.get(day) or _ordinary(day)}." for day in range(1, DAYS + 1)) + "\n"


def _ordinary(day: int) -> str:
    wind = ("north", "west", "south", "east")[day % 4]
    return f"wind from the {wind}, force {day % 7 + 1}; barometer {990 + day * 7 % 40}; {day % 5} boats passed before noon"


def _move(event: TimeTravelEvent) -> str:
    return f"  <= went back to msg_{event.position}: {counted(event.removed, 'message')} removed"


def _overview(message: Message) -> str:
    return numbered(message.depth, f"{message.type}: {_shortened(str(message.langchain.text))}")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]}…"


DEMONSTRATIONS: Mapping[str, Callable[[Offer, Read, Write], bool]] = {"goto": goto, "compaction": compaction}
