"""Conversations like those of people, the same in every run, from a seed."""

import random
import uuid
from collections.abc import Iterator

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

WORDS = """
the of to and a in is it you that was for on are with as they be at one have this from by hot but some what there we
can out other were all your when up use word how said each she which their time will way about many then them would
write like so these her long make thing see him two has look more day could go come did sound no most number who over
know water than call first people may down side been now find any new work part take get place made live where after
back little only round man year came show every good me give our under name very through just form much great think
checkpoint conversation database forecast temperature afternoon portfolio quarterly comparison recommendation
""".split()  # noqa: SIM905  (a list literal would fill a page)
TOOL_EVERY = 4  # turns
TOOL_RESULT = 2048  # characters


def messages(number: int, seed: int = 7) -> list[BaseMessage]:
    """Return the first `number` messages of an endless conversation."""
    talk = _talk(random.Random(seed))
    return [next(talk) for _ in range(number)]


def _talk(chance: random.Random) -> Iterator[BaseMessage]:
    turn = 0
    while True:
        turn += 1
        yield HumanMessage(prose(chance, 120), id=_id(chance))
        if turn % TOOL_EVERY == 0:
            call = ToolCall(name="web_search", args={"query": prose(chance, 8)}, id=f"call_{chance.randbytes(12).hex()}")
            yield _answer(chance, "", [call], "tool_calls")
            result = prose(chance, 600)[:TOOL_RESULT]
            yield ToolMessage(result, tool_call_id=call["id"], name="web_search", id=_id(chance))
        yield _answer(chance, prose(chance, 120), [], "stop")


def _answer(chance: random.Random, text: str, calls: list[ToolCall], reason: str) -> AIMessage:
    """Return an answer with the metadata of langchain-openai."""
    prompt, completion = chance.randrange(200, 90_000), chance.randrange(20, 400)
    return AIMessage(
        text,
        id=f"run-{uuid.UUID(bytes=chance.randbytes(16))}-0",
        tool_calls=calls,
        response_metadata={
            "finish_reason": reason,
            "model_name": "gpt-5.4-mini-2026-03-05",
            "system_fingerprint": f"fp_{chance.randbytes(5).hex()}",
            "service_tier": "default",
            "model_provider": "openai",
        },
        usage_metadata={
            "input_tokens": prompt,
            "output_tokens": completion,
            "total_tokens": prompt + completion,
            "input_token_details": {"audio": 0, "cache_read": prompt // 128 * 128},
            "output_token_details": {"audio": 0, "reasoning": 0},
        },
    )


def prose(chance: random.Random, words: int) -> str:
    """Return sentences of about a dozen words."""
    text = []
    for start in range(0, words, 12):
        sentence = " ".join(chance.choices(WORDS, k=min(12, words - start)))
        text.append(f"{sentence.capitalize()}.")
    return " ".join(text)


def _id(chance: random.Random) -> str:
    return str(uuid.UUID(bytes=chance.randbytes(16)))
