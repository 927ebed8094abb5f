"""Every provider takes a conversation through tools, time travel and other models, and refuses no request of it."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pytest

from agent.models.parameters import ModelParameters, apply_parameters
from checkpoints import Caller, RunState
from checkpoints.values.reasoning import Reasoning
from tests.agent.running import Running, Several, running
from tests.fakes.answers import Call, Calls, Say
from tests.fakes.faults import Fault, Reply
from tests.fakes.providers import PROVIDERS, SERVICE_HOSTS, Provider, Server
from tests.rounds import sample

SUM, OTHER_SUM = Call("calculator", {"expression": "6 * 7"}), Call("calculator", {"expression": "1 + 1"})
BOTH = Calls((SUM, OTHER_SUM), text="Let me see.", thought="Two sums.")
AGAIN = Call("calculator", {"expression": "40 + 4"}, thought="One more.")
TOTAL = Say("It is done.", thought="The tools say so.")
GO = Call("goto", {"position": "msg_0", "message": "Begin again, with other sums."}, thought="Back.")
INTO_ROUND = Call("goto", {"position": "msg_9", "message": "The first sum is enough."}, thought="Back to one result.")


@dataclass
class Tale:
    """A conversation, the fakes that may answer in it, and the provider that answers next."""

    chat: Running
    models: Several
    servers: dict[str, Server]
    cut_calls: int = 0  # calls whose results a move into their round removed

    def turn_to(self, provider: Provider) -> None:
        self.models.default_spec = provider.spec

    def script(self, *replies: Reply) -> None:
        self.servers[self.models.default_spec].script(*replies)

    async def ask(self, *replies: Reply, expected: RunState = RunState.DONE) -> None:
        """Ask a question, which these replies answer."""
        self.script(*replies)
        run = await self.chat.say("what are 6*7 and 1+1?")
        assert (run.state, run.error if expected is RunState.DONE else None) == (expected, None)

    async def edit(self, *replies: Reply) -> None:
        """Edit the last question."""
        self.script(*replies)
        question = [message for message in self.chat.path() if message.type == "human"][-1]
        run = await self.chat.runner.edit(self.chat.thread_id, question.id, "and 7*6?", caller=Caller())
        assert (await self.chat.end(run)).state is RunState.DONE

    def save(self) -> str:
        return str(self.chat.store.save(self.chat.thread_id).result)

    def restore(self, checkpoint: str) -> None:
        self.chat.store.restore(self.chat.thread_id, checkpoint)

    def results(self) -> list[str]:
        """The results on the path, those of one answer in the order of their texts: they are stored as they come."""
        rounds = groupby(self.chat.said(), lambda said: said[0])
        return [text for kind, said in rounds if kind == "tool" for text in sorted(text for *_, text in said)]


Story = Callable[[Tale], Awaitable[None]]


@pytest.fixture(autouse=True)
def services_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve the services' names to this machine, because the rules of some are known by their hosts."""
    resolve = socket.getaddrinfo

    def resolve_here(host: Any, *more: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return resolve("127.0.0.1" if name in SERVICE_HOSTS else host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve_here)
    monkeypatch.setenv("NO_PROXY", "*")


def play(story: Story, *providers: Provider) -> list[Server]:
    """Play a story that begins with the first provider, and return the providers' fakes."""
    servers = [provider.start() for provider in providers]

    async def whole() -> None:
        async with AsyncExitStack() as stack:
            loaded = [
                await stack.enter_async_context(provider.load_model(server))
                for provider, server in zip(providers, servers, strict=True)
            ]
            specs = [provider.spec for provider in providers]
            models = Several(dict(zip(specs, loaded, strict=True)), specs[0])
            async with running(loaded[0], models=models, time_travel="allow") as chat:
                tale = Tale(chat, models, dict(zip(specs, servers, strict=True)))
                await story(tale)
                assert len(chat.unanswered()) == tale.cut_calls

    try:
        asyncio.run(whole())
    finally:
        for server in servers:
            server.stop()
    assert [server.violations for server in servers] == [[] for _ in servers]
    return servers


def choose_other(provider: Provider) -> Provider:
    return PROVIDERS[0] if provider.name != "openai" else PROVIDERS[3]


# In rows of one provider, so that each is once the first and once the second of the ordinary run's pairs.
PAIRS = [
    (provider, PROVIDERS[(at + (step + 4) % 11 + 1) % len(PROVIDERS)])
    for at, provider in enumerate(PROVIDERS)
    for step in range(11)
]
every_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)


@pytest.fixture(autouse=True)
def anthropic_is_installed(request: pytest.FixtureRequest) -> None:
    chosen = [value for value in request.node.callspec.params.values() if isinstance(value, Provider)]
    if any("anthropic" in (each.name, choose_other(each).name) for each in chosen):
        pytest.importorskip("langchain_anthropic", reason="requirements-dev.txt installs it")


@every_provider
def test_three_turns_with_tools_are_read_whole(provider: Provider) -> None:
    async def story(tale: Tale) -> None:
        await tale.ask(BOTH, TOTAL)
        await tale.ask(BOTH, AGAIN, TOTAL)
        await tale.ask(AGAIN, BOTH, TOTAL)
        assert tale.results() == ["2", "42", "2", "42", "44", "44", "2", "42"]
        assert tale.chat.said()[-1] == ("ai", "done", "It is done.")
        answers = [message.langchain for message in tale.chat.path() if message.type == "ai"]
        thoughts = [kept.text for answer in answers if (kept := Reasoning.of(answer))]
        shown = ["Two sums.", "The tools say so.", "Two sums.", "One more."]
        assert [each for each in thoughts if each][:4] == (shown if provider.shows_thought else [])
        assert all(answer.usage_metadata["input_tokens"] > 0 for answer in answers)  # type: ignore[union-attr, index]

    play(story, provider)


@pytest.mark.slow
@every_provider
def test_time_travel_and_another_model_in_between(provider: Provider) -> None:
    async def story(tale: Tale) -> None:
        await tale.ask(BOTH, TOTAL)
        saved = tale.save()
        await tale.ask(BOTH, AGAIN, TOTAL)
        tale.restore(saved)
        await tale.ask(AGAIN, TOTAL)
        await tale.edit(BOTH, TOTAL)
        tale.turn_to(choose_other(provider))
        await tale.ask(BOTH, TOTAL)
        tale.turn_to(provider)
        await tale.ask(BOTH, TOTAL)
        await tale.ask(BOTH, GO, BOTH, TOTAL)
        assert tale.results() == ["2", "42"]
        await tale.ask(BOTH, TOTAL)

    play(story, provider, choose_other(provider))


@pytest.mark.slow
@pytest.mark.parametrize("provider", [each for each in PROVIDERS if each.manner], ids=lambda provider: provider.name)
def test_answers_that_are_not_streamed_are_read_the_same(provider: Provider) -> None:
    async def story(tale: Tale) -> None:
        await tale.ask(Fault("status", status=400, message="This model does not stream."), BOTH, AGAIN, TOTAL)
        assert tale.results() == ["2", "42", "44"]
        assert [text for kind, _, text in tale.chat.said() if kind == "ai"] == ["Let me see.", "", "It is done."]
        assert tale.chat.thought() == ("Two sums.One more.The tools say so." if provider.shows_thought else "")

    (server,) = play(story, provider)
    assert [bool(request.get("stream")) for request in server.requests] == [True, False, False, False]


@every_provider
def test_the_parameters_of_a_conversation_are_taken(provider: Provider) -> None:
    async def story(tale: Tale) -> None:
        chosen = ModelParameters(temperature=0.5, top_p=0.9, max_tokens=500)
        tale.models.models[provider.spec] = apply_parameters(tale.models.load_model(), chosen)
        await tale.ask(BOTH, TOTAL)

    (server,) = play(story, provider)
    names = {"max_tokens", "max_completion_tokens", "max_output_tokens"}
    assert [request[name] for request in server.requests for name in names & request.keys()] == [500, 500]


@pytest.mark.slow
@every_provider
def test_answers_that_end_otherwise_are_followed_by_others(provider: Provider) -> None:
    async def story(tale: Tale) -> None:
        await tale.ask(BOTH, Say("I cannot", finish="content_filter"), expected=RunState.FAILED)
        await tale.ask(BOTH, Say("It is", finish="length"), expected=RunState.FAILED)
        tale.script(Say(" done."))
        run = await tale.chat.runner.continue_answer(tale.chat.thread_id, caller=Caller())
        assert (await tale.chat.end(run)).state is RunState.DONE
        await tale.ask(BOTH, Fault("status", status=403), expected=RunState.FAILED)  # the results are the end of the path
        await tale.ask(BOTH, TOTAL)

    play(story, provider)


@pytest.mark.slow
@pytest.mark.parametrize(("provider", "following"), sample(PAIRS, len(PROVIDERS)), ids=lambda each: each.name)
def test_every_provider_goes_on_after_every_other(provider: Provider, following: Provider) -> None:
    async def story(tale: Tale) -> None:
        await tale.ask(BOTH, AGAIN, TOTAL)
        await tale.ask(BOTH, INTO_ROUND, AGAIN, TOTAL)
        tale.cut_calls = 1
        assert len(tale.results()) == 5  # without the second one of the cut round
        saved = tale.save()
        tale.turn_to(following)
        await tale.ask(BOTH, TOTAL)
        await tale.edit(BOTH, AGAIN, TOTAL)
        tale.turn_to(provider)
        await tale.ask(BOTH, TOTAL)
        tale.restore(saved)
        tale.turn_to(following)
        await tale.ask(BOTH, TOTAL)
        assert [tale.results()[at] for at in (0, 1, 2, 4, 5, 6)] == ["2", "42", "44", "44", "2", "42"]

    play(story, provider, following)
