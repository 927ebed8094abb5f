"""Inputs of the next run of a conversation, read from the store: its request, its window, its waiting calls.

Every method blocks.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

from langchain_core.messages import AnyMessage, ToolMessage

from agent.context.measurement import Context, estimate_overhead, measure_context, measure_path_growth, measure_tokens_at
from agent.context.numbering import NumberStyle
from agent.context.prompts import SYSTEM_PROMPT, compose_system_text
from agent.context.recent_messages import RecentMessages
from agent.context.request import NOT_CARRIED_OUT_TEXT, build_request
from agent.context.window import Window, find_window
from agent.graph.state import Limits
from agent.marks import CallKey, MoveMark
from agent.preparation import compaction
from agent.preparation.compaction import NOTHING_YET_TEXT, NotCompactedError, Passage, SummaryPreview, SummaryScope
from agent.settings import ModelCatalog, ModelUnavailableError, ThreadSettings
from agent.subagents.agents import Agents, describe_agents
from agent.subagents.delegation import OpenCall, find_open_calls, load_last_turn
from agent.time_travel.excerpts import ExcerptRefusedError
from agent.time_travel.waiting_moves import WaitingMove, find_waiting_moves
from agent.tools.decisions import DENIED_TEXT, NOT_APPROVED_TEXT, UNDONE_CALL_TEXT, UNDONE_MOVE_TEXT
from agent.tools.names import MOVE_NAMES
from agent.tracing.events import SYSTEM_PROMPT_NAME, Prompt
from agent.tracing.protocol import Tracer
from checkpoints import HEAD, MAIN, Candidate, Message, Run, Runs, RunState, StateError, Store, Thread
from checkpoints.default_instructions import DefaultInstructions
from checkpoints.values.sentence import sentence

MAX_PREVIEWED_THREADS = 32  # with moves that wait: a preview takes several statements
MAX_CANDIDATE_MESSAGES = 1_000  # of one answer; its budget ends it long before
_NOT_MADE_TEXTS = (DENIED_TEXT, NOT_APPROVED_TEXT, NOT_CARRIED_OUT_TEXT)
MAX_MEASURED_HEADS = 256  # heads whose context is cached: a long conversation is read for it once


class NothingToAnswerError(StateError):
    def __init__(self) -> None:
        super().__init__(sentence("There is no message to answer."))


class RunInputs:
    """Reads the inputs of runs. `load_context` is cached by head, `preview_moves` by the version of the conversation."""

    def __init__(
        self,
        *,
        store: Store,
        runs: Runs,
        catalog: ModelCatalog,
        limits: Limits,
        tracer: Tracer,
        agents: Agents,
        numbers: NumberStyle,
    ) -> None:
        self._store = store
        self._runs = runs
        self._catalog = catalog
        self._limits = limits
        self._tracer = tracer
        self._agents = agents
        self._numbers = numbers
        self._defaults = DefaultInstructions(store)
        self.recent_messages = RecentMessages(store, limits.max_messages)
        self._move_cache = lru_cache(MAX_PREVIEWED_THREADS)(self._find_moves)
        self._context_cache = lru_cache(MAX_MEASURED_HEADS)(self._measure_context)

    def load_settings(self, run: Run) -> ThreadSettings:
        """Return the settings that a run answers with: those of the thread, and of a rerun its own in their place."""
        settings = ThreadSettings.from_thread(self._store.get_thread(run.thread_id))
        return settings if run.rerun is None else replace(settings, **self._runs.get_rerun(run.rerun).settings)

    def build_messages(self, run: Run, *, resume: bool = False) -> list[AnyMessage]:
        """Build a request for the path as it is now."""
        system_text = self.load_system_text(self.load_system_prompt(), run)
        path = self.load_recent_messages(run)
        return build_request(system_text, path, resume=resume, convert=self.recent_messages.convert)

    def build_candidate_messages(self, candidate: Candidate, run: Run, settings: ThreadSettings) -> list[AnyMessage]:
        """Build the request of one of several models: the path to the question as its window holds it, and no sub-agents.

        After it come the messages that the model has written already, at a process before this one.
        """
        defaults = self._defaults.read_for(self._store.get_thread(run.thread_id).owner)
        system_text = compose_system_text(self.load_system_prompt().text, settings.instructions, defaults=defaults)
        path = self.recent_messages.load(run.thread_id, self._load_window(settings).tokens)
        question = next((place for place in range(len(path), 0, -1) if path[place - 1].type == "human"), len(path))
        path = [*path[:question], *self.load_candidate_answer(candidate, run)]
        return build_request(system_text, path, continue_answer=True, convert=self.recent_messages.convert)

    def load_candidate_answer(self, candidate: Candidate, run: Run) -> list[Message]:
        """Return the messages of one of several models after the question."""
        if candidate.head_id is None:
            return []
        path = self._store.list_messages_to(run.thread_id, candidate.head_id, last=MAX_CANDIDATE_MESSAGES)
        return path[next((place for place in range(len(path), 0, -1) if path[place - 1].type == "human"), 0) :]

    def load_system_prompt(self) -> Prompt:
        return self._tracer.find_prompt(SYSTEM_PROMPT_NAME, SYSTEM_PROMPT)

    def load_system_text(self, prompt: Prompt, run: Run) -> str:
        return self._compose_system_text(prompt, run, describe_agents(list(self._agents.values())))

    def load_branch_system_text(self, run: Run) -> str:
        """Return the instructions on a branch of a fork: the agent there has no sub-agents."""
        return self._compose_system_text(self.load_system_prompt(), run)

    def _compose_system_text(self, prompt: Prompt, run: Run, agents: str = "") -> str:
        defaults = self._defaults.read_for(self._store.get_thread(run.thread_id).owner)
        return compose_system_text(prompt.text, self.load_settings(run).instructions, agents, defaults)

    def load_waiting_calls(self, thread_id: str, *, after_crash: bool = False, after_undo: bool = False) -> list[OpenCall]:
        """Return the calls that await a person's decision, and the calls that wait for those.

        With `after_crash`, also the calls of a run that was interrupted. With `after_undo`, also those at a place where no
        run has ended, as an undo leaves it.
        """
        latest = self._runs.get_latest_run(thread_id)
        states = (RunState.WAITING, RunState.INTERRUPTED) if after_crash else (RunState.WAITING,)
        if latest is None:
            is_open = after_undo and bool(self._store.list_left_messages(thread_id))
        else:
            is_open = latest.state in states
        return self.load_open_calls(thread_id) if is_open else []

    def find_undone_calls(self, thread_id: str, calls: Sequence[OpenCall]) -> dict[CallKey, str]:
        """Return what a model is told of those calls without a result that were made and taken back."""
        left = self._store.list_left_messages(thread_id)
        results = [(message.agent, message.langchain) for message in left if message.type == "tool" and not message.damaged]
        done = {
            CallKey(agent, result.tool_call_id)
            for agent, result in results
            if isinstance(result, ToolMessage) and not result.text.startswith(_NOT_MADE_TEXTS)
        }
        is_moved = any(MoveMark.of(message) for message in left if message.type != "tool")
        moves = [each.key for each in calls if is_moved and each.agent == MAIN and each.call["name"] in MOVE_NAMES][:1]
        return dict.fromkeys(done, UNDONE_CALL_TEXT) | dict.fromkeys(moves, UNDONE_MOVE_TEXT)

    def load_open_calls(self, thread_id: str) -> list[OpenCall]:
        return find_open_calls(load_last_turn(self._store, thread_id))

    def find_passage(self, thread_id: str, scope: SummaryScope) -> Passage:
        if ThreadSettings.from_thread(self._store.get_thread(thread_id)).graph:
            raise NotCompactedError(sentence("A graph answers here: it decides itself what it remembers."))
        if self.load_waiting_calls(thread_id):
            raise NotCompactedError(sentence("A tool call waits for you: decide about it first."))
        return compaction.select_passage(self._store.list_messages(thread_id), scope)

    def require_no_waiting_call(self, thread_id: str) -> None:
        """Raise `ExcerptRefusedError` where a call waits: a note after it would leave it without a decision."""
        if self.load_waiting_calls(thread_id):
            raise ExcerptRefusedError(sentence("A tool call waits for you: decide about it first."))

    def preview_summary(self, thread_id: str | None, scope: SummaryScope) -> SummaryPreview:
        """Preview a summary. Raises the errors of `find_passage`, also where there is no conversation yet."""
        if thread_id is None:
            raise NotCompactedError(NOTHING_YET_TEXT)
        passage = self.find_passage(thread_id, scope)
        context = self.load_context(thread_id)
        assert context is not None  # the passage has messages
        return compaction.preview_summary(passage, context)

    def preview_moves(self, thread_id: str) -> dict[str, WaitingMove]:
        """Preview the moves that wait for a person, by the ids of their calls. A user graph's requests are not known."""
        with self._store.database.begin_read():  # the version and what it has, of one moment
            thread = self._store.get_thread(thread_id)
            return self._move_cache(thread_id, thread.version, self._load_window(ThreadSettings.from_thread(thread)))

    def _find_moves(self, thread_id: str, version: int, window: Window) -> dict[str, WaitingMove]:
        del version, window  # for the cache: these decide what is found
        is_user_graph = bool(ThreadSettings.from_thread(self._store.get_thread(thread_id)).graph)
        load_context = (lambda: None) if is_user_graph else partial(self.load_context, thread_id)
        return find_waiting_moves(self._store, thread_id, load_context, self._numbers)

    def load_recent_messages(self, run: Run) -> list[Message]:
        window = self._load_window(self.load_settings(run))
        return self.recent_messages.load(run.thread_id, window.tokens)

    def _load_window(self, settings: ThreadSettings) -> Window:
        try:
            model = settings.resolve_model(self._catalog).chat
        except ModelUnavailableError:  # the run itself reports it
            model = None
        return find_window(model, self._limits.max_window_tokens)

    def load_context(self, thread_id: str, run: Run | None = None) -> Context | None:
        """Measure how full the model's window is when a conversation goes on; None before its first message.

        While a `run` is at work, its settings count: a rerun has a model and instructions of its own.
        """
        with self._store.database.begin_read():  # the head and the path to it, of one moment
            thread = self._store.get_thread(thread_id)
            settings = self.load_settings(run) if run is not None else ThreadSettings.from_thread(thread)
            system = self._compose_measured_text(thread, settings)
            return self._context_cache(thread_id, thread.head_id, self._load_window(settings), system)

    def _compose_measured_text(self, thread: Thread, settings: ThreadSettings | None = None) -> str:
        """Return the instructions as the meter counts them: without a prompt that would have to be fetched."""
        instructions = (settings or ThreadSettings.from_thread(thread)).instructions
        return compose_system_text(SYSTEM_PROMPT, instructions, defaults=self._defaults.read_for(thread.owner))

    def measure_growth(self, thread_id: str, path: Sequence[Message]) -> list[int]:
        """Return the tokens of the current path after each message, the last as the context meter counts them."""
        context = self.load_context(thread_id)
        if context is None:
            return []
        system = self._compose_measured_text(self._store.get_thread(thread_id))
        sizes = measure_path_growth(path, estimate_overhead(self._store, thread_id, path, system))
        return [*sizes[:-1], context.tokens]

    def _measure_context(self, thread_id: str, head_id: str | None, window: Window, system: str) -> Context | None:
        del head_id  # for the cache: the path to a head never changes
        return measure_context(self._store, thread_id, window, system, self._limits.max_messages)

    def count_tokens(self, thread_id: str) -> int | None:
        """Count the tokens of the conversation as it is now, for a checkpoint of it."""
        context = self.load_context(thread_id)
        return context.tokens if context else None

    def count_tokens_at(self, thread_id: str, depth: int) -> int | None:
        """Count the tokens of the conversation up to a depth; None where that would take a long reading."""
        system = self._compose_measured_text(self._store.get_thread(thread_id))
        return measure_tokens_at(self._store, thread_id, depth, system)

    def require_message(self, thread_id: str) -> None:
        """Raise `NothingToAnswerError` for an empty path: another tab may have undone or cleared it."""
        if not self._store.count_messages(thread_id):
            raise NothingToAnswerError

    def find_question(self, thread_id: str, answer_id: str | None) -> str:
        """Find the message to answer: the last of the user, or the last before an answer; HEAD if nothing follows it."""
        before = None if answer_id is None else self._store.get_message(thread_id, answer_id).depth + 1
        path = self._store.list_messages(thread_id, last=self._limits.max_messages, before=before)
        asked = (each for each in path if each.type == "human" and not each.is_by_graph)
        questions = [message for message in asked if message.agent == MAIN]
        if not questions or (answer_id is not None and path[-1].id != answer_id):
            raise NothingToAnswerError
        return HEAD if answer_id is None and questions[-1] is path[-1] else questions[-1].id
