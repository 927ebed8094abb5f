"""Trying several ways at once: each prompt of a `fork` is a real branch, on which the agent works beside the others.

The branches begin before the answer that asks for them, so that its call is on none of their paths. They are made in one
transaction with their prompts; what is written on them belongs to the run, and is undone with it.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall

from agent.delegation import turn
from agent.dependence import calls
from agent.graph import Graph, steps
from agent.request import request
from agent.state import Limits, Recorder, RunContext
from checkpoints import MAIN, Message, MessageStatus, NewMessage, Run, Runs, Store, serde

KEY = "fork"  # in the additional_kwargs of a branch's first message: {"call": the call's id, "number": from 1}
MOST = 10  # prompts
MOST_IN_RUN = 20
AT_ONCE = 4  # branches that are worked on
LONGEST_PROMPT = 20_000  # characters
LONGEST_ANSWER = 8_000  # characters of a branch's answer that the one who asked is told
LONGEST_NAME = 60
_SILENT = "(Nothing was said.)"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Forking:
    """What the forks of one run work with. `asks`: a person decides about each before it is done."""

    store: Store
    runs: Runs
    run: Run
    graph: Graph
    system: Callable[[], str]  # what the model is told; blocks
    sentence: Callable[[BaseException], str]  # a failure, for people
    moved: Callable[[int], None]  # tells the pages of the thread's new version
    asks: bool

    async def explore(self, call: ToolCall, context: RunContext) -> tuple[str, bool]:
        """Work on every prompt. The results as JSON in their order, or a sentence for the model; and whether it failed."""
        prompts = call["args"].get("prompts")
        if (refusal := _refusal(prompts)) is not None:
            return refusal, True
        assert isinstance(prompts, list)
        if context.spent.branches + len(prompts) > MOST_IN_RUN:
            return f"No more than {MOST_IN_RUN} ways are tried in one run. Nothing was done. Go on with what there is.", True
        context.spent.branches += len(prompts)
        path, system = await context.recorder.work(lambda: (self._path(call, context.limits), self.system()))
        begun = [(_name(prompt), _first(prompt, call, number)) for number, prompt in enumerate(prompts, 1)]
        after = path[-1].id if path else None
        made, version = await context.recorder.work(partial(self.runs.branch_off, self.run, begun, after=after))
        self.moved(version)
        context.trace.changed(await context.recorder.work(partial(self.store.operation, self.run.thread_id, version)))
        free = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._answer(branch_id, system, [*path, first], context, free))
                for branch_id, first in made
            ]
        results = [task.result() for task in tasks]
        named = [{"branch": name, **result} for (name, _), result in zip(begun, results, strict=True)]
        return json.dumps(named, ensure_ascii=False, indent=1), all("failed" in result for result in results)

    def _path(self, call: ToolCall, limits: Limits) -> list[Message]:
        """The agent's messages before the answer that asks."""
        since = turn(self.store, self.run.thread_id)  # agents that were asked beside it may have written much meanwhile
        asking = next(each for each in reversed(since) if each.agent == MAIN and call["id"] in calls(each))
        if asking.parent_id is None:
            return []
        path = self.store.leading_to(self.run.thread_id, asking.parent_id, last=limits.most_messages)
        return [each for each in path if each.agent == MAIN]

    async def _answer(
        self, branch_id: str, system: str, path: list[Message], context: RunContext, free: asyncio.Semaphore
    ) -> dict[str, str]:
        """What came of one branch. Its failure is a result, and no reason to end the others."""
        recorder = _OnBranch(self.runs, self.run, branch_id, context.recorder, self.moved)
        lent: Any = {"recorder": recorder, "traveller": None, "delegation": None, "forks": None, "decisions": {}}
        own = replace(context, **lent, alone=True, trace=context.trace.of("branch", system))
        own = replace(own, reserved_answers=context.reserved_answers + 1)
        async with free:
            try:
                async with asyncio.timeout(context.limits.fork_seconds) as deadline:
                    # Not before its turn, and not on the event loop: of a long path a request takes half a second.
                    asked = await recorder.work(partial(request, system, path))
                    state = await self.graph.ainvoke({"messages": asked}, steps(context.limits), context=own)
            except asyncio.CancelledError:
                await recorder.cut_off()
                raise
            except Exception as error:  # noqa: BLE001  a branch's outer edge: every failure becomes a sentence
                late = f"It took longer than {context.limits.fork_seconds:g} s and was stopped."
                failed = late if deadline.expired() else self.sentence(error)
                own.trace.cut_off(failed)
                await recorder.cut_off()
                return {"failed": failed}
        text = str(state["messages"][-1].text) or _SILENT
        return {"answer": text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]}… (cut)"}


@dataclass(frozen=True, slots=True)
class _OnBranch:
    """The recorder of one branch. Nothing of it is shown while it is written: it is not what the page stands on."""

    runs: Runs
    run: Run
    branch_id: str
    recorder: Recorder
    moved: Callable[[int], None]
    written: list[str] = field(default_factory=list)  # of the answer that is being written

    def text(self, delta: str) -> None:
        self.written.append(delta)

    def tool_started(self, call_id: str) -> None:
        pass

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE) -> int:
        new = NewMessage(serde.to_body(message), status=status)
        stored, version = await self.recorder.work(lambda: self._write(new))
        if isinstance(message, AIMessage) and not message.tool_calls:
            self.moved(version)
        return int(stored.depth)

    def _write(self, new: NewMessage) -> tuple[Message, int]:
        stored, version = self.runs.commit(self.run, new, branch_id=self.branch_id)
        self.written.clear()  # here: whoever waits for this may be stopped meanwhile, and would write it once more
        return stored, version

    async def cut_off(self) -> None:
        """Calls stay open: nobody reads the branch before a person goes there, and then each request closes them."""
        if text := "".join(self.written):
            await self.commit(AIMessage(serde.writable(text)), MessageStatus.PARTIAL)

    async def work(self, work: Callable[[], T]) -> T:
        return await self.recorder.work(work)

    def fresh(self, call_id: str) -> str:
        return self.recorder.fresh(call_id)

    def of(self, agent: str) -> Recorder:
        raise NotImplementedError  # a branch asks no other agents


def _refusal(prompts: object) -> str | None:
    if not isinstance(prompts, list) or not all(isinstance(prompt, str) and prompt.strip() for prompt in prompts):
        return "The prompts must be a list of texts, none of them empty. Nothing was done."
    if not 1 <= len(prompts) <= MOST:
        return f"There must be 1 to {MOST} prompts. Nothing was done."
    if any(len(prompt) > LONGEST_PROMPT for prompt in prompts):
        return f"A prompt is too long: at most {LONGEST_PROMPT:,} characters. Nothing was done."
    return None


def _name(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 1].rstrip()}…"


def _first(prompt: str, call: ToolCall, number: int) -> NewMessage:
    marks = {"call": call["id"] or "", "number": number}
    return NewMessage(serde.to_body(HumanMessage(serde.writable(prompt), additional_kwargs={KEY: marks})))


def begun_by(first: Message, call_id: str) -> int | None:
    """Which of the ways that a call asks for begins with this message, from 1; None for any other message."""
    marks = (first.body["data"].get("additional_kwargs") or {}).get(KEY)
    number = marks.get("number") if isinstance(marks, dict) and marks.get("call") == call_id else None
    return number if isinstance(number, int) else None


def is_answer(last: Message) -> bool:
    """Whether a branch that ends with this message has come to its answer."""
    return last.type == "ai" and last.status is MessageStatus.DONE and not calls(last)
