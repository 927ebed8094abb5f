"""What the model says: scripted answers, and the ones that the fake makes up by rule when nothing is scripted."""

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.fakes.faults import Reply
from tests.fakes.server import JSON

SUM = re.compile(
    r"\b(?:what is|what's|how much is|calculate|compute)\s+"
    r"([-(\d][-+*/%^×÷().,\d\s]{0,100}[-+*/%^×÷][-+*/%^×÷().,\d\s]{0,100}[\d)])",
    re.IGNORECASE,
)
SEARCH = re.compile(r"\b(?:search for|look up)\s+(.+)", re.IGNORECASE)
POSITION = re.compile(r"^(?:\[msg_\d+\]\s*)+")


@dataclass(frozen=True)
class Say(Reply):
    """Plain text. `tokens` are its chunks on the wire; by default its words, each with the space after it."""

    text: str
    tokens: tuple[str, ...] | None = None
    finish: str = "stop"
    thought: str = ""


@dataclass(frozen=True)
class Call(Reply):
    """One tool call. A string as `arguments` is sent as it is, also when it is not JSON; `tokens` are its fragments."""

    name: str
    arguments: dict[str, Any] | str
    id: str | None = None
    text: str = ""
    tokens: tuple[str, ...] | None = None
    finish: str = "tool_calls"
    thought: str = ""

    @property
    def json(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Calls(Reply):
    """Several calls in one answer (their own `text` and `finish` do not count)."""

    calls: tuple[Call, ...]
    text: str = ""
    finish: str = "tool_calls"
    thought: str = ""


@dataclass(frozen=True)
class Turn:
    """Any answer, in the shape in which it goes over the wire."""

    text: tuple[str, ...]
    calls: tuple[Call, ...]
    finish: str
    thought: tuple[str, ...] = ()


def turn_of(reply: Reply) -> Turn:
    if isinstance(reply, Say):
        return Turn(_pieces(reply.text, reply.tokens), (), reply.finish, words(reply.thought))
    if isinstance(reply, Call):
        return Turn(words(reply.text), (reply,), reply.finish, words(reply.thought))
    if isinstance(reply, Calls):
        return Turn(words(reply.text), reply.calls, reply.finish, words(reply.thought))
    raise ValueError(f"a model cannot answer with {reply!r}")


def words(text: str) -> tuple[str, ...]:
    """The text in chunks: each word with the white space after it. Joined they are the text."""
    return tuple(re.findall(r"\s*\S+\s*|\s+", text))


def fragments(call: Call) -> tuple[str, ...]:
    """The argument JSON in chunks of four characters, unless the script says otherwise."""
    text = call.json
    return _pieces(text, call.tokens or tuple(text[start : start + 4] for start in range(0, len(text), 4)))


def _pieces(text: str, tokens: tuple[str, ...] | None) -> tuple[str, ...]:
    if tokens is None:
        return words(text)
    if "".join(tokens) != text:
        raise ValueError(f"the tokens {tokens!r} do not make up {text!r}")
    return tokens


def made_up_answer(body: JSON) -> Reply:
    """The same for the same request: quotes tool results, calls a tool that fits, or says the user's text back."""
    messages = body["messages"]
    question = POSITION.sub("", next((_text(m) for m in reversed(messages) if m["role"] == "user"), ""))
    if messages[-1]["role"] == "tool":
        return Say(f"For “{question}” the tools say: {'; '.join(_results(messages))}")
    offered = {tool["function"]["name"] for tool in body.get("tools") or ()}
    found = SUM.search(question)
    if found and "calculator" in offered:
        return Call("calculator", {"expression": found[1].strip()})
    found = SEARCH.search(question)
    if found and "web_search" in offered:
        return Call("web_search", {"query": found[1].strip().rstrip("?.!")})
    count = sum(message["role"] == "user" for message in messages)
    return Say(f"You said: {question}\n\nI see {count} of your messages and {len(messages)} in all.")


def _results(messages: list[JSON]) -> list[str]:
    """The results at the end of the list, oldest first."""
    results: list[str] = []
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        results.insert(0, _text(message)[:500])
    return results


def _text(message: JSON) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
