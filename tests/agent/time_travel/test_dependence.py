"""What leaves with an answer and what stays: over made-up work of agents that ask each other, to any depth."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.marks import CallKey, QuestionMark
from agent.subagents.delegation import find_open_calls
from agent.time_travel.dependence import find_dependents, list_call_ids
from checkpoints import MAIN, Message, MessageStatus
from checkpoints.values import serde
from tests.rounds import given_examples

AGENTS = ("ann", "ben", "cid")


class Work:
    """A path that grows as a run of several agents writes it; who writes next is drawn."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.path: list[Message] = []
        self.number = 0

    def add(self, agent: str, message: BaseMessage) -> None:
        place, status = len(self.path), MessageStatus.DONE
        body, now = serde.to_body(message), datetime.now(UTC)
        self.path.append(Message(str(place), "t", None, 1, place, agent, status, body, "", None, now))

    def answer(self, agent: str, above: tuple[str, ...]) -> Any:
        """One agent's work on a question, as a generator that stops after each message."""
        for _ in range(self.draw(st.integers(0, 2))):
            free = [name for name in AGENTS if name not in (agent, *above)]
            whom = self.draw(st.lists(st.sampled_from(free), max_size=2, unique=True)) if free else []
            made = [(f"c{self.number + place}", name) for place, name in enumerate(whom)]
            self.number += len(made)
            if not made:
                break
            asking = [{"name": "ask_agent", "args": {}, "id": call} for call, _ in made]
            self.add(agent, AIMessage("", tool_calls=asking))
            yield
            yield from self.beside([self.asked(agent, call, name, (agent, *above)) for call, name in made])
        self.add(agent, AIMessage("done"))
        yield

    def asked(self, by: str, call: str, agent: str, above: tuple[str, ...]) -> Any:
        while agent in self.busy:
            yield
        self.busy.add(agent)
        self.add(agent, HumanMessage("?", additional_kwargs=QuestionMark(CallKey(by, call)).to_kwargs()))
        yield
        yield from self.answer(agent, above)
        self.busy.discard(agent)
        self.add(by, ToolMessage("!", tool_call_id=call))
        yield

    def beside(self, working: list[Any]) -> Any:
        while working:
            each = self.draw(st.sampled_from(working))
            try:
                next(each)
            except StopIteration:
                working.remove(each)
            yield

    def whole(self) -> list[Message]:
        self.busy: set[str] = set()
        for _ in range(2):
            self.add(MAIN, HumanMessage("hello"))
            for _ in zip(self.answer(MAIN, ()), range(300), strict=False):
                pass
            if self.busy:  # two that wait for each other
                break
        return self.path


@st.composite
def paths(draw: st.DrawFn) -> tuple[list[Message], Message]:
    path = Work(draw).whole()
    answers = [message for message in path if message.type == "ai" and not list_call_ids(message)]
    return path, draw(st.sampled_from(answers or path))


@given_examples(30, 300, paths())
def test_what_stays_is_whole_without_what_leaves(made: tuple[list[Message], Message]) -> None:
    path, target = made
    gone = find_dependents(path, target)
    assert gone <= {message.id for message in path[target.depth + 1 :]}
    kept = [message for message in path if message.id not in gone]
    for agent in (MAIN, *AGENTS):
        own = [message for message in kept if message.agent == agent]
        for place, message in enumerate(own):
            before = [list_call_ids(each) for each in own[:place] if list_call_ids(each)]
            assert message.type != "tool" or message.body["data"]["tool_call_id"] in before[-1]
        # Calls without a result are only in an agent's last answer: the run goes on from them.
        results = {message.body["data"]["tool_call_id"] for message in own if message.type == "tool"}
        asking = [message for message in own if list_call_ids(message)]
        assert all(set(list_call_ids(message)) <= results for message in asking[:-1])
    everything = {call for message in kept for call in list_call_ids(message)}
    assert all(mark.call.call_id in everything for message in kept if (mark := QuestionMark.of(message)))


@given_examples(30, 300, paths())
def test_what_an_agent_said_after_the_answer_was_told_to_it_leaves(made: tuple[list[Message], Message]) -> None:
    path, target = made
    gone = find_dependents(path, target)
    for agent in (MAIN, *AGENTS):
        said = [
            message.id in gone for message in path[target.depth + 1 :] if message.agent == agent and message.type == "ai"
        ]
        assert said == sorted(said)
    assert all(m.id in gone for m in path[target.depth + 1 :] if m.agent == target.agent and m.type == "ai")


def test_the_innermost_open_call_comes_first() -> None:
    work = Work(lambda _: None)  # type: ignore[arg-type,return-value]
    work.add(MAIN, AIMessage("", tool_calls=[{"name": "ask_agent", "args": {}, "id": "1"}]))
    work.add("ann", HumanMessage("?", additional_kwargs=QuestionMark(CallKey(MAIN, "1")).to_kwargs()))
    work.add("ann", AIMessage("", tool_calls=[{"name": "send", "args": {}, "id": "1"}]))
    assert [(each.agent, each.question is not None) for each in find_open_calls(work.path)] == [("ann", False), (MAIN, True)]
