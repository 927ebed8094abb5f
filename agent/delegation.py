"""One agent asks another: `ask_agent` puts a question to a sub-agent, which works on it in the same run and answers.

All that a sub-agent says and reads stands on the one path, under its name, and its memory is what stands there. So nothing
has to be kept beside the path: a question that stands there is not asked again but answered on from where it is, be it after
a person's decision, after a crash, or after the agent went back into the middle of it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, ToolCall

from agent.agents import Agent, Agents, described
from agent.approval import Waiting, unanswered
from agent.choice import ChosenModel, Offer
from agent.context import recent, window_of
from agent.dependence import KEY, asked, calls
from agent.graph import Graph, steps
from agent.prompts import AGENT_PROMPT, system_text
from agent.request import request
from agent.state import Limits, RunContext
from agent.tools.ask_agent import ask_agent
from checkpoints import MAIN, Message, MessageStatus, Store

_FIRST_READ = 60  # messages
_SILENT = "(The agent had nothing to say.)"


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call on the path that has no result yet. `question` is what it has put to another agent, if it has."""

    agent: str
    call: ToolCall
    question: Message | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.agent, self.call["id"] or ""


def turn(store: Store, thread_id: str) -> list[Message]:
    """What stands on the path from the user's last message on, and with it every call that may still be open."""
    count = _FIRST_READ
    while True:
        path = store.messages(thread_id, last=count)
        begins = [index for index, message in enumerate(path) if message.type == "human" and message.agent == MAIN]
        if begins or len(path) < count:
            return path[begins[-1] if begins else 0 :]
        count *= 4


def open_calls(path: Sequence[Message], agent: str = MAIN) -> list[OpenCall]:
    """The calls that an agent waits for, and those that the agents wait for which it asked with them, innermost first."""
    whole = [message for message in path if message.status is MessageStatus.DONE and not message.damaged]
    own = [message.langchain for message in whole if message.agent == agent]
    found: list[OpenCall] = []
    waiting = [OpenCall(agent, call, _question(path, agent, call["id"] or "")) for call in unanswered(own)]
    for each in waiting:
        if each.question is not None:
            found += open_calls([m for m in path if m.depth > each.question.depth], each.question.agent)
    return [*found, *waiting]


def decidable(opened: Iterable[OpenCall]) -> list[OpenCall]:
    """Those of the open calls that wait for a person: not for an agent at work, nor for their turn to ask such a one."""
    opened = list(opened)
    at_work = {each.question.agent for each in opened if each.question is not None}
    return [
        each
        for each in opened
        if each.question is None and not (each.call["name"] == ask_agent.name and each.call["args"].get("agent") in at_work)
    ]


def _question(path: Sequence[Message], by: str, call_id: str) -> Message | None:
    """What a call of an agent's last answer put to another agent."""
    for message in reversed(path):
        if message.agent == by and call_id in calls(message):
            return None
        if asked(message) == (by, call_id):
            return message
    return None


def answer_to(question: Message, memory: Iterable[Message]) -> str | None:
    """The final answer to a question in its agent's memory; None while there is none."""
    since = [message for message in memory if message.depth > question.depth]
    end = next((index for index, message in enumerate(since) if message.type == "human"), len(since))
    last = since[end - 1] if end else None
    if last is None or last.type != "ai" or calls(last) or last.status is not MessageStatus.DONE:
        return None
    return str(last.langchain.text) or _SILENT


@dataclass(frozen=True, slots=True)
class Company:
    """The sub-agents of a run, and what they work with."""

    agents: Agents
    thread_id: str
    store: Store
    models: Offer
    chosen: ChosenModel  # the conversation's, for those that have none of their own
    graph: Graph
    limits: Limits
    describe_failure: Callable[[BaseException], str]  # for people and models

    def model(self, agent: Agent) -> ChosenModel:
        return self.chosen if agent.model is None else ChosenModel(agent.model, self.models.model(agent.model))

    def system(self, agent: Agent) -> str:
        others = [each for each in self.agents.values() if each is not agent]
        told = AGENT_PROMPT.format(name=agent.name, instructions=agent.instructions)
        return system_text(told, agents=described(others) if ask_agent.name in agent.tools else "")

    def memory(self, agent: Agent, model: ChosenModel) -> list[Message]:
        """What of an agent's own messages its model can read. Blocks."""
        window = window_of(model.chat, self.limits.window)
        return recent(self.store, self.thread_id, window.tokens, self.limits.most_messages, agent.name)

    async def drive(self, messages: list[AnyMessage], context: RunContext) -> str:
        """Let an agent work until it has answered."""
        ended = await self.graph.ainvoke({"messages": messages}, steps(self.limits), context=context)
        return str(ended["messages"][-1].text)


class Delegation:
    """Who works for whom in one run. An agent answers one question at a time; others for it wait their turn."""

    def __init__(self, company: Company, begun: Sequence[OpenCall]) -> None:
        """`begun`: the calls that are open; their agents go on with them, before they are asked anything else."""
        self._company = company
        self._begun = {each.key: each.question for each in begun if each.question is not None}
        self._at_work = {question.agent: key for key, question in self._begun.items()}
        self._held: set[str] = set()  # agents that cannot go on before a person has decided
        self._asking: defaultdict[str, list[str]] = defaultdict(list)  # whom each agent waits for now
        self._changed = asyncio.Condition()

    def is_begun(self, agent: str, call: ToolCall) -> bool:
        return (agent, call["id"] or "") in self._begun

    async def ask(self, call: ToolCall, context: RunContext) -> tuple[str, bool]:
        """The answer to a call of `ask_agent`, or a sentence for the model that asks, and whether it failed.

        Raises `Waiting` when the agent cannot go on before a person has decided.
        """
        question = self._begun.get((context.agent, call["id"] or ""))
        name = question.agent if question else str(call["args"].get("agent", "")).strip()
        text = str(call["args"].get("question", "")).strip()
        agent = self._company.agents.get(name)
        if agent is None:
            return f"There is no agent {name[:40]!r}. There are: {', '.join(self._company.agents)}.", True
        if question is None and not text:
            return "The question is empty: write what the agent should find out or do.", True
        if self._waits_for(name, context.agent):
            return f"{name} is itself waiting for this work, so it cannot be asked. Answer with what you have.", True
        self._asking[context.agent].append(name)
        try:
            return await self._answered(agent, call, question or text, context)
        finally:
            self._asking[context.agent].remove(name)

    def _waits_for(self, name: str, other: str) -> bool:
        """Whether one agent waits, over however many others, for another."""
        return name == other or any(self._waits_for(each, other) for each in self._asking[name])

    async def _answered(
        self, agent: Agent, call: ToolCall, question: Message | str, context: RunContext
    ) -> tuple[str, bool]:
        """The agent's answer, or a sentence with the reason for none, and whether it failed. The asker goes on."""
        key, own = (context.agent, call["id"] or ""), self._context(agent, context)
        await self._turn(agent.name, key)
        try:
            return await self._work(agent, key, question, own), False
        except Waiting:
            self._held.add(agent.name)
            raise
        except Exception as error:  # noqa: BLE001  a sub-agent's outer edge: every failure becomes a sentence
            failed = self._company.describe_failure(error)
            own.trace.cut_off(failed)
            await own.recorder.cut_off()
            return f"{agent.name} could not answer: {failed}", True
        finally:
            if agent.name not in self._held:
                del self._at_work[agent.name]
                self._begun.pop(key, None)
            await self._tell()

    def _context(self, agent: Agent, context: RunContext) -> RunContext:
        """What an agent works with that another one asks."""
        trace = context.trace.of(agent.name, self._company.system(agent))
        who: Any = {"agent": agent.name, "tools": agent.tools, "recorder": context.recorder.of(agent.name), "trace": trace}
        return replace(context, **who, traveller=None, reserved_answers=context.reserved_answers + 1)

    async def _turn(self, name: str, key: tuple[str, str]) -> None:
        """Wait until the agent can be asked. Raises `Waiting` when it cannot be before a person has decided."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._at_work.get(name, key) == key or name in self._held)
            if self._at_work.setdefault(name, key) != key:
                raise Waiting

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _work(self, agent: Agent, key: tuple[str, str], question: Message | str, own: RunContext) -> str:
        recorder, model = own.recorder, self._company.model(agent)
        if isinstance(question, str):
            by, call_id = key
            await recorder.commit(HumanMessage(question, additional_kwargs={KEY: {"by": by, "call": call_id}}))
        memory = await recorder.work(lambda: self._company.memory(agent, model))
        if isinstance(question, Message) and (answer := answer_to(question, memory)) is not None:
            return answer
        messages = await recorder.work(lambda: request(self._company.system(agent), memory, resume=True))
        return await self._company.drive(messages, replace(own, model=model)) or _SILENT
