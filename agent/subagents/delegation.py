"""One agent asks another: `ask_agent` puts a question to a sub-agent, which works on it in the same run and answers.

All that a sub-agent says and reads stands on the one path, under its name, and its memory is what stands there. So nothing
has to be kept beside the path: a question that stands there is not asked again but answered on from where it is, be it after
a person's decision, after a crash, or after the agent went back into the middle of it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AnyMessage, HumanMessage, ToolCall

from agent.context.prompts import AGENT_PROMPT, compose_system_text
from agent.context.request import build_request
from agent.context.window import find_window, read_recent_messages
from agent.graph.graph import Graph, build_config
from agent.graph.state import Limits, RunContext, ToolOutcome
from agent.settings import ChosenModel, ModelCatalog
from agent.subagents.agents import Agent, Agents, describe_agents
from agent.time_travel.dependence import QUESTION_MARK, list_call_ids, read_question_mark
from agent.tools.approval import AwaitingDecision, find_unanswered_calls
from agent.tools.ask_agent import ask_agent
from checkpoints import MAIN, Message, MessageStatus, Store

_FIRST_READ_MESSAGES = 60  # messages
_EMPTY_ANSWER_TEXT = "(The agent had nothing to say.)"


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call on the path that has no result yet. `question` is what it has put to another agent, if it has."""

    agent: str
    call: ToolCall
    question: Message | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.agent, self.call["id"] or ""


def load_last_turn(store: Store, thread_id: str) -> list[Message]:
    """What stands on the path from the user's last message on, and with it every call that may still be open."""
    count = _FIRST_READ_MESSAGES
    while True:
        path = store.list_messages(thread_id, last=count)
        begins = [index for index, message in enumerate(path) if message.type == "human" and message.agent == MAIN]
        if begins or len(path) < count:
            return path[begins[-1] if begins else 0 :]
        count *= 4


def find_open_calls(path: Sequence[Message], agent: str = MAIN) -> list[OpenCall]:
    """The calls that an agent waits for, and those that the agents wait for which it asked with them, innermost first."""
    whole = [message for message in path if message.status is MessageStatus.DONE and not message.damaged]
    own = [message.langchain for message in whole if message.agent == agent]
    found: list[OpenCall] = []
    waiting = [OpenCall(agent, call, _find_question(path, agent, call["id"] or "")) for call in find_unanswered_calls(own)]
    for each in waiting:
        if each.question is not None:
            found += find_open_calls([m for m in path if m.depth > each.question.depth], each.question.agent)
    return [*found, *waiting]


def find_undecided_calls(open_calls: Iterable[OpenCall]) -> list[OpenCall]:
    """Those of the open calls that wait for a person: not for an agent at work, nor for their turn to ask such a one."""
    open_calls = list(open_calls)
    at_work = {each.question.agent for each in open_calls if each.question is not None}
    return [
        each
        for each in open_calls
        if each.question is None and not (each.call["name"] == ask_agent.name and each.call["args"].get("agent") in at_work)
    ]


def _find_question(path: Sequence[Message], asker: str, call_id: str) -> Message | None:
    """What a call of an agent's last answer put to another agent."""
    for message in reversed(path):
        if message.agent == asker and call_id in list_call_ids(message):
            return None
        if read_question_mark(message) == (asker, call_id):
            return message
    return None


def find_answer(question: Message, memory: Iterable[Message]) -> str | None:
    """The final answer to a question in its agent's memory; None while there is none."""
    since = [message for message in memory if message.depth > question.depth]
    end = next((index for index, message in enumerate(since) if message.type == "human"), len(since))
    last = since[end - 1] if end else None
    if last is None or last.type != "ai" or list_call_ids(last) or last.status is not MessageStatus.DONE:
        return None
    return str(last.langchain.text) or _EMPTY_ANSWER_TEXT


@dataclass(frozen=True, slots=True)
class SubAgents:
    """The sub-agents of a run, and what they work with."""

    agents: Agents
    thread_id: str
    store: Store
    catalog: ModelCatalog
    default_model: ChosenModel  # the conversation's, for those that have none of their own
    graph: Graph
    limits: Limits
    describe_failure: Callable[[BaseException], str]  # for people and models

    def choose_model(self, agent: Agent) -> ChosenModel:
        return self.default_model if agent.model is None else ChosenModel(agent.model, self.catalog.load_model(agent.model))

    def compose_instructions(self, agent: Agent) -> str:
        others = [each for each in self.agents.values() if each is not agent]
        told = AGENT_PROMPT.format(name=agent.name, instructions=agent.instructions)
        return compose_system_text(told, agents=describe_agents(others) if ask_agent.name in agent.tools else "")

    def load_memory(self, agent: Agent, model: ChosenModel) -> list[Message]:
        """What of an agent's own messages its model can read. Blocks."""
        window = find_window(model.chat, self.limits.max_window_tokens)
        return read_recent_messages(self.store, self.thread_id, window.tokens, self.limits.max_messages, agent.name)

    async def run_agent(self, messages: list[AnyMessage], context: RunContext) -> str:
        """Let an agent work until it has answered."""
        ended = await self.graph.ainvoke({"messages": messages}, build_config(self.limits), context=context)
        return str(ended["messages"][-1].text)


class RunDelegator:
    """Who works for whom in one run. An agent answers one question at a time; others for it wait their turn."""

    def __init__(self, sub_agents: SubAgents, open_calls: Sequence[OpenCall]) -> None:
        """`begun`: the calls that are open; their agents go on with them, before they are asked anything else."""
        self._sub_agents = sub_agents
        self._open_questions = {each.key: each.question for each in open_calls if each.question is not None}
        self._at_work = {question.agent: key for key, question in self._open_questions.items()}
        self._waiting_agents: set[str] = set()  # agents that cannot go on before a person has decided
        self._asked_agents: defaultdict[str, list[str]] = defaultdict(list)  # whom each agent waits for now
        self._turn_changed = asyncio.Condition()

    def is_in_progress(self, agent: str, call: ToolCall) -> bool:
        return (agent, call["id"] or "") in self._open_questions

    async def ask(self, call: ToolCall, context: RunContext) -> ToolOutcome:
        """The answer to a call of `ask_agent`, or a sentence for the model that asks, and whether it failed.

        Raises `Waiting` when the agent cannot go on before a person has decided.
        """
        question = self._open_questions.get((context.agent, call["id"] or ""))
        name = question.agent if question else str(call["args"].get("agent", "")).strip()
        text = str(call["args"].get("question", "")).strip()
        agent = self._sub_agents.agents.get(name)
        if agent is None:
            known = ", ".join(self._sub_agents.agents)
            return ToolOutcome(f"There is no agent {name[:40]!r}. There are: {known}.", is_failed=True)
        if question is None and not text:
            return ToolOutcome("The question is empty: write what the agent should find out or do.", is_failed=True)
        if self._waits_for(name, context.agent):
            refusal = f"{name} is itself waiting for this work, so it cannot be asked. Answer with what you have."
            return ToolOutcome(refusal, is_failed=True)
        self._asked_agents[context.agent].append(name)
        try:
            return await self._answer_question(agent, call, question or text, context)
        finally:
            self._asked_agents[context.agent].remove(name)

    def _waits_for(self, name: str, asker: str) -> bool:
        """Whether one agent waits, over however many others, for another."""
        return name == asker or any(self._waits_for(each, asker) for each in self._asked_agents[name])

    async def _answer_question(
        self, agent: Agent, call: ToolCall, question: Message | str, context: RunContext
    ) -> ToolOutcome:
        """The agent's answer, or a sentence with the reason for none, and whether it failed. The asker goes on."""
        key, own = (context.agent, call["id"] or ""), self._context(agent, context)
        await self._await_turn(agent.name, key)
        try:
            return ToolOutcome(await self._work_on_question(agent, key, question, own))
        except AwaitingDecision:
            self._waiting_agents.add(agent.name)
            raise
        except Exception as error:  # noqa: BLE001  a sub-agent's outer edge: every failure becomes a sentence
            failed = self._sub_agents.describe_failure(error)
            own.trace.cut_off(failed)
            await own.recorder.cut_off()
            return ToolOutcome(f"{agent.name} could not answer: {failed}", is_failed=True)
        finally:
            if agent.name not in self._waiting_agents:
                del self._at_work[agent.name]
                self._open_questions.pop(key, None)
            await self._notify_waiters()

    def _context(self, agent: Agent, context: RunContext) -> RunContext:
        """What an agent works with that another one asks."""
        trace = context.trace.for_agent(agent.name, self._sub_agents.compose_instructions(agent))
        return replace(
            context,
            agent=agent.name,
            tool_names=agent.tools,
            recorder=context.recorder.for_agent(agent.name),
            trace=trace,
            time_travel=None,
            reserved_answers=context.reserved_answers + 1,
        )

    async def _await_turn(self, name: str, key: tuple[str, str]) -> None:
        """Wait until the agent can be asked. Raises `Waiting` when it cannot be before a person has decided."""
        async with self._turn_changed:
            await self._turn_changed.wait_for(lambda: self._at_work.get(name, key) == key or name in self._waiting_agents)
            if self._at_work.setdefault(name, key) != key:
                raise AwaitingDecision

    async def _notify_waiters(self) -> None:
        async with self._turn_changed:
            self._turn_changed.notify_all()

    async def _work_on_question(
        self, agent: Agent, key: tuple[str, str], question: Message | str, sub_context: RunContext
    ) -> str:
        recorder, model = sub_context.recorder, self._sub_agents.choose_model(agent)
        if isinstance(question, str):
            by, call_id = key
            await recorder.commit(HumanMessage(question, additional_kwargs={QUESTION_MARK: {"by": by, "call": call_id}}))
        memory = await recorder.run_blocking(lambda: self._sub_agents.load_memory(agent, model))
        if isinstance(question, Message) and (answer := find_answer(question, memory)) is not None:
            return answer
        messages = await recorder.run_blocking(
            lambda: build_request(self._sub_agents.compose_instructions(agent), memory, resume=True)
        )
        return await self._sub_agents.run_agent(messages, replace(sub_context, model=model)) or _EMPTY_ANSWER_TEXT
