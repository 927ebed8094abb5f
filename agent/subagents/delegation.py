"""Delegation: `ask_agent` puts a question to a sub-agent, which works on it in the same run and answers.

All messages of a sub-agent are on the one path, under its name. They are its memory, as its own moves left it (see
`context.subagent_memory`), so nothing is stored beside the path. A question on the path is not asked again: its agent
continues after a person's decision, after a crash, and after a move into the middle of its work.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from langchain_core.messages import AnyMessage, HumanMessage, ToolCall

from agent.context.prompts import AGENT_PROMPT, MEMORY_MOVES_TEXT, compose_system_text
from agent.context.recent_messages import read_recent_messages
from agent.context.request import build_request
from agent.context.window import find_window
from agent.graph.budgets import LimitReached
from agent.graph.state import AgentGraph, Limits, RunContext, ToolOutcome, build_config
from agent.marks import CallKey, QuestionMark
from agent.settings import ChosenModel, ModelCatalog
from agent.subagents.agents import Agent, Agents, describe_agents
from agent.subagents.failure import HelperFailure
from agent.time_travel.dependence import list_call_ids
from agent.time_travel.moves import MoveRefused
from agent.time_travel.protocol import PathChanged
from agent.time_travel.scopes import load_memory
from agent.tools.decisions import AwaitingDecision, find_unanswered_calls
from agent.tools.names import ASK_AGENT, MOVE_NAMES
from checkpoints import MAIN, Message, MessageStatus, Store, pluralize

# More messages than in a turn without tools.
_FIRST_READ_MESSAGES = 8
_ANSWER_TEXT = "Answer with what you have."
_KEPT_WORK_TEXT = "It remembers its work: ask it to go on, or go on without it."
_EMPTY_ANSWER_TEXT = "(The agent had nothing to say.)"


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call on the path without a result. `question` is its message to a sub-agent, once the message is on the path."""

    agent: str
    call: ToolCall
    question: Message | None = None

    @property
    def key(self) -> CallKey:
        return CallKey(self.agent, self.call["id"] or "")


def load_last_turn(store: Store, thread_id: str) -> list[Message]:
    """Load the path from the user's last message on. It contains every call that may still be open."""
    count = _FIRST_READ_MESSAGES
    while True:
        path = store.list_messages(thread_id, last=count)
        starts = [n for n, each in enumerate(path) if each.type == "human" and each.agent == MAIN and not each.is_by_graph]
        if starts or len(path) < count:
            return path[starts[-1] if starts else 0 :]
        count *= 4


def find_open_calls(path: Sequence[Message], agent: str = MAIN) -> list[OpenCall]:
    """Find the open calls of an agent and of the sub-agents that it called, innermost first."""
    finished = [message for message in path if message.status is MessageStatus.DONE and not message.damaged]
    memory = [message.langchain for message in finished if message.agent == agent]
    found: list[OpenCall] = []
    keyed = [(CallKey(agent, call["id"] or ""), call) for call in find_unanswered_calls(memory)]
    waiting = [OpenCall(agent, call, _find_question(path, key)) for key, call in keyed]
    for each in waiting:
        if each.question is not None:
            found += find_open_calls([m for m in path if m.depth > each.question.depth], each.question.agent)
    return [*found, *waiting]


def find_undecided_calls(open_calls: Iterable[OpenCall]) -> list[OpenCall]:
    """Find the open calls that wait for a person, rather than for a sub-agent, for their turn, or for a move."""
    open_calls = list(open_calls)
    at_work = {each.question.agent for each in open_calls if each.question is not None}
    return [
        each
        for each in _skip_calls_behind_moves(open_calls)
        if each.question is None and not (each.call["name"] == ASK_AGENT and each.call["args"].get("agent") in at_work)
    ]


def _skip_calls_behind_moves(open_calls: Iterable[OpenCall]) -> Iterator[OpenCall]:
    """Skip the calls after an agent's first open move, and the move while an earlier call waits for a sub-agent.

    The later calls wait for the move, which may remove their answer. They run if the move is denied.
    """
    at_work, moving = set[str](), set[str]()
    for each in open_calls:
        is_move = each.call["name"] in MOVE_NAMES
        if each.agent not in moving and not (is_move and each.agent in at_work):
            yield each
        if is_move:
            moving.add(each.agent)
        if each.question is not None:
            at_work.add(each.agent)


def _find_question(path: Sequence[Message], call: CallKey) -> Message | None:
    """Find the message that a call of an agent's last answer put to a sub-agent."""
    for message in reversed(path):
        if message.agent == call.agent and call.call_id in list_call_ids(message):
            return None
        if QuestionMark.of(message) == QuestionMark(call):
            return message
    return None


def find_answer(question: Message, path: Iterable[Message]) -> str | None:
    """Find the final answer of its agent to a question on a path, or None while there is none."""
    since = [message for message in path if message.depth > question.depth and message.agent == question.agent]
    end = next((index for index, message in enumerate(since) if message.type == "human"), len(since))
    last = since[end - 1] if end else None
    if last is None or last.type != "ai" or list_call_ids(last) or last.status is not MessageStatus.DONE:
        return None
    return str(last.langchain.text) or _EMPTY_ANSWER_TEXT


@dataclass(frozen=True, slots=True)
class SubAgents:
    """The sub-agents of a run, and their parts."""

    agents: Agents
    thread_id: str
    store: Store
    catalog: ModelCatalog
    # The conversation's model, for agents without their own.
    default_model: ChosenModel
    graph: AgentGraph
    limits: Limits
    # The text argument is the failed part of the run.
    describe_failure: Callable[[BaseException, str], HelperFailure]

    def choose_model(self, agent: Agent) -> ChosenModel:
        return self.default_model if agent.model is None else ChosenModel(agent.model, self.catalog.load_model(agent.model))

    def compose_instructions(self, agent: Agent, *, moves: bool) -> str:
        """Compose the instructions of an agent. `moves` says whether it may move within its memory."""
        others = [each for each in self.agents.values() if each is not agent]
        prompt = AGENT_PROMPT.format(name=agent.name, instructions=agent.instructions)
        general = f"{prompt}\n\n{MEMORY_MOVES_TEXT}" if moves else prompt
        return compose_system_text(general, agents=describe_agents(others) if ASK_AGENT in agent.tools else "")

    def load_memory(self, agent: Agent, model: ChosenModel, *, moves: bool) -> list[Message]:
        """Load the end of an agent's memory for its model's window. Blocks.

        An agent that moves needs the memory from its beginning, since positions count from there.
        """
        # A memory that is too large for numbers refuses each move as well.
        with suppress(MoveRefused):
            if moves:
                return load_memory(self.store, self.thread_id, agent.name)[-self.limits.max_messages :]
        window = find_window(model.chat, self.limits.max_window_tokens)
        return read_recent_messages(self.store, self.thread_id, window.tokens, self.limits.max_messages, agent.name)

    def find_answer(self, question: Message) -> str | None:
        """Find the final answer to a question, or None while there is none. Blocks."""
        later_count = self.store.count_messages(self.thread_id) - question.depth
        return find_answer(question, self.store.list_messages(self.thread_id, last=later_count))

    async def run_agent(self, messages: list[AnyMessage], context: RunContext) -> str:
        state = await self.graph.ainvoke({"messages": messages}, build_config(self.limits, self.thread_id), context=context)
        return str(state["messages"][-1].text)


class RunDelegator:
    """The delegations of a run. A sub-agent answers one question at a time, and further questions wait."""

    def __init__(self, sub_agents: SubAgents, open_calls: Sequence[OpenCall]) -> None:
        """Make the delegations. The agents in `open_calls` continue with these before they get other questions."""
        self._sub_agents = sub_agents
        self._open_questions = {each.key: each.question for each in open_calls if each.question is not None}
        self._at_work = {question.agent: key for key, question in self._open_questions.items()}
        # Agents that cannot continue before a person has decided, and the sub-agents for which each agent now waits.
        self._waiting_agents: set[str] = set()
        self._asked_agents: defaultdict[str, list[str]] = defaultdict(list)
        self._turn_changed = asyncio.Condition()

    def is_in_progress(self, agent: str, call: ToolCall) -> bool:
        return CallKey(agent, call["id"] or "") in self._open_questions

    async def ask(self, call: ToolCall, context: RunContext) -> ToolOutcome:
        """Return the answer to a call of `ask_agent`, or a sentence for the calling agent's model.

        Raises `AwaitingDecision` if the sub-agent cannot continue before a person has decided.
        """
        question = self._open_questions.get(CallKey(context.agent, call["id"] or ""))
        name = question.agent if question else str(call["args"].get("agent", "")).strip()
        text = str(call["args"].get("question", "")).strip()
        agent = self._sub_agents.agents.get(name)
        if agent is None:
            known = ", ".join(self._sub_agents.agents)
            return ToolOutcome(f"There is no agent {name[:40]!r}. There are: {known}.", is_failed=True)
        if question is None and not text:
            return ToolOutcome("The question is empty: write what the agent should find out or do.", is_failed=True)
        if self._waits_for(name, context.agent):
            refusal = f"{name} is itself waiting for this work, so it cannot be asked. {_ANSWER_TEXT}"
            return ToolOutcome(refusal, is_failed=True)
        if question is None and context.depth >= context.limits.max_depth:
            refusal = f"No more than {pluralize(context.limits.max_depth, 'agent')} may wait for each other. {_ANSWER_TEXT}"
            return ToolOutcome(refusal, is_failed=True)
        self._asked_agents[context.agent].append(name)
        try:
            return await self._answer_question(agent, call, question or text, context)
        finally:
            self._asked_agents[context.agent].remove(name)

    def _waits_for(self, name: str, caller: str) -> bool:
        """Return whether an agent waits for the caller, directly or through others. Its question would then close a
        cycle.
        """
        return name == caller or any(self._waits_for(each, caller) for each in self._asked_agents[name])

    async def _answer_question(
        self, agent: Agent, call: ToolCall, question: Message | str, context: RunContext
    ) -> ToolOutcome:
        """Return the sub-agent's answer, or the reason why there is none. The calling agent continues."""
        key = CallKey(context.agent, call["id"] or "")
        await self._await_turn(agent.name, key)
        # The context starts the agent's time, which excludes the wait.
        sub_context = self._build_context(agent, key, context)
        try:
            answer = await self._work_on_question(agent, key, question, sub_context)
            sub_context.trace.on_agent_end()
            return ToolOutcome(answer)
        except AwaitingDecision:
            self._waiting_agents.add(agent.name)
            raise
        except Exception as error:  # noqa: BLE001  a sub-agent's outer edge: every failure becomes a sentence
            failed = self._sub_agents.describe_failure(error, f"the agent {agent.name}")
            sub_context.trace.cut_off(failed.sentence)
            await sub_context.recorder.cut_off()
            hint = f" {_KEPT_WORK_TEXT}" if isinstance(error, LimitReached) else ""
            return ToolOutcome(f"{agent.name} could not answer: {failed.describe()}{hint}", is_failed=True)
        finally:
            if agent.name not in self._waiting_agents:
                del self._at_work[agent.name]
                self._open_questions.pop(key, None)
                context.run_usage.own.pop(key, None)
            await self._notify_waiters()

    def _build_context(self, agent: Agent, key: CallKey, context: RunContext) -> RunContext:
        instructions = self._sub_agents.compose_instructions(agent, moves=_can_move(agent, context))
        return replace(
            context,
            agent=agent.name,
            tool_names=agent.tools,
            recorder=context.recorder.for_agent(agent.name),
            trace=context.trace.for_agent(agent.name, instructions, key.call_id),
            time_travel=context.time_travel.for_agent(agent.name) if context.time_travel else None,
            own_usage=context.run_usage.find_own(key, context.limits.agent),
            depth=context.depth + 1,
            reserved_answers=context.reserved_answers + 1,
        )

    async def _await_turn(self, name: str, key: CallKey) -> None:
        """Wait until the sub-agent is free. Raises `AwaitingDecision` if a person must decide first."""
        async with self._turn_changed:
            await self._turn_changed.wait_for(lambda: self._at_work.get(name, key) == key or name in self._waiting_agents)
            if self._at_work.setdefault(name, key) != key:
                raise AwaitingDecision

    async def _notify_waiters(self) -> None:
        async with self._turn_changed:
            self._turn_changed.notify_all()

    async def _work_on_question(self, agent: Agent, key: CallKey, question: Message | str, sub_context: RunContext) -> str:
        recorder, model = sub_context.recorder, self._sub_agents.choose_model(agent)
        if isinstance(question, str):
            await recorder.commit(HumanMessage(question, additional_kwargs=QuestionMark(key).to_kwargs()))
        elif (answer := await recorder.run_blocking(partial(self._sub_agents.find_answer, question))) is not None:
            return answer
        while True:
            try:
                return await self._continue_work(agent, replace(sub_context, model=model)) or _EMPTY_ANSWER_TEXT
            except PathChanged:
                continue

    async def _continue_work(self, agent: Agent, sub_context: RunContext) -> str:
        """Return an agent's answer from its current memory. Raises `PathChanged` after a move in it."""
        recorder, model, moves = sub_context.recorder, sub_context.model, _can_move(agent, sub_context)
        assert model is not None
        memory = await recorder.run_blocking(partial(self._sub_agents.load_memory, agent, model, moves=moves))
        system = self._sub_agents.compose_instructions(agent, moves=moves)
        messages = await recorder.run_blocking(partial(build_request, system, memory, resume=True))
        # The next message follows the memory's last message.
        if moves:
            sub_context = replace(sub_context, recorder=recorder.for_agent(agent.name, memory[-1].depth + 1))
        return await self._sub_agents.run_agent(messages, sub_context)


def _can_move(agent: Agent, context: RunContext) -> bool:
    return context.time_travel is not None and not MOVE_NAMES.isdisjoint(agent.tools)
