"""What the next run of a conversation begins from, read from the store: its request, its window, what waits in it.

Every method blocks.
"""

from functools import lru_cache

from langchain_core.messages import AnyMessage

from agent import compaction
from agent.agents import Agents, described
from agent.choice import Choice, ModelGoneError, Offer
from agent.compaction import NotCompactedError, Part, Passage
from agent.context import Context, Window, context_of, recent, window_of
from agent.delegation import OpenCall, open_calls, turn
from agent.prompts import SYSTEM_PROMPT, system_text
from agent.request import request
from agent.state import Limits
from agent.tracing import SYSTEM, Prompt, Tracer
from checkpoints import HEAD, MAIN, Message, Runs, RunState, StateError, Store, Thread

MEASURED = 256  # heads whose context is remembered: a long conversation is read for it once


class NothingToAnswerError(StateError):
    def __init__(self) -> None:
        super().__init__("There is no message to answer.")


class Prospect:
    """What lies before the threads of a store, for the runs that they begin."""

    def __init__(self, store: Store, runs: Runs, models: Offer, limits: Limits, tracer: Tracer, agents: Agents) -> None:
        self._store = store
        self._runs = runs
        self._models = models
        self._limits = limits
        self._tracer = tracer
        self._agents = agents
        self._measured = lru_cache(MEASURED)(self._measure)

    def asked(self, thread_id: str, *, resume: bool = False) -> list[AnyMessage]:
        """A request for the path as it is now."""
        return request(self.system(self.prompt(), thread_id), self.recent(thread_id), resume=resume)

    def prompt(self) -> Prompt:
        return self._tracer.prompt(SYSTEM, SYSTEM_PROMPT)

    def system(self, prompt: Prompt, thread_id: str) -> str:
        instructions = Choice.of(self._store.thread(thread_id)).instructions
        return system_text(prompt.text, instructions, described(list(self._agents.values())))

    def waiting(self, thread_id: str) -> list[OpenCall]:
        """The calls that a person has to decide about before the conversation can go on, and those that wait for these."""
        latest = self._runs.latest(thread_id)
        if latest is None or latest.state is not RunState.WAITING:
            return []
        return self.open_calls(thread_id)

    def open_calls(self, thread_id: str) -> list[OpenCall]:
        return open_calls(turn(self._store, thread_id))

    def passage(self, thread_id: str, part: Part) -> Passage:
        if self.waiting(thread_id):
            raise NotCompactedError("A tool call waits for you: decide about it first.")
        return compaction.passage(self._store.messages(thread_id), part)

    def recent(self, thread_id: str) -> list[Message]:
        window = self._window(self._store.thread(thread_id))
        return recent(self._store, thread_id, window.tokens, self._limits.most_messages)

    def _window(self, thread: Thread) -> Window:
        try:
            model = Choice.of(thread).chosen_model(self._models).chat
        except ModelGoneError:  # the run that asks it will say so
            model = None
        return window_of(model, self._limits.window)

    def context(self, thread_id: str) -> Context | None:
        """How full the model's window is when a conversation goes on; None before its first message."""
        with self._store.database.reading():  # the head and what leads to it
            thread = self._store.thread(thread_id)
            system = system_text(SYSTEM_PROMPT, Choice.of(thread).instructions)
            return self._measured(thread_id, thread.head_id, self._window(thread), system)

    def _measure(self, thread_id: str, head_id: str | None, window: Window, system: str) -> Context | None:
        del head_id  # for the cache: what leads to it never changes
        return context_of(self._store, thread_id, window, system, self._limits.most_messages)

    def tokens(self, thread_id: str) -> int | None:
        """What the conversation takes as it stands, for a checkpoint of it."""
        context = self.context(thread_id)
        return context.tokens if context else None

    def question(self, thread_id: str, answer_id: str | None) -> str:
        """Where to answer from: the last user message, or the last one before an answer; HEAD if nothing follows it."""
        before = None if answer_id is None else self._store.message(thread_id, answer_id).depth + 1
        path = self._store.messages(thread_id, last=self._limits.most_messages, before=before)
        asked = [message for message in path if message.type == "human" and message.agent == MAIN]
        if not asked or (answer_id is not None and path[-1].id != answer_id):
            raise NothingToAnswerError
        return HEAD if answer_id is None and asked[-1] is path[-1] else asked[-1].id
