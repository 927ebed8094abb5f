"""A run that ends before its work took a step leaves nothing open."""

import asyncio

from agent.tools.decisions import Decision
from checkpoints import Caller, RunState
from tests.agent.running import model_at, running, tool
from tests.fakes.openai import Call, FakeOpenAI


def test_stopping_in_the_same_moment_as_deciding_answers_the_call() -> None:
    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model, [tool("send", lambda: "sent")], approval={"send"}) as chat:
            assert (await chat.say("send it")).state is RunState.WAITING
            run = await chat.runner.decide(chat.thread_id, Decision("1", "allow"), caller=Caller())
            assert await chat.runner.stop(chat.thread_id)
            assert (await chat.end(run)).state is RunState.STOPPED
            assert chat.unanswered() == set()

    with FakeOpenAI() as fake:
        fake.reply(Call("send", {}, id="1"))
        asyncio.run(story(fake))
