"""A model that needs no key and no network: it shows what Waymark does, deterministically, and says so.

It lists what it still remembers, because that is what going back, branching and restoring change.
"""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata, add_ai_message_chunks
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agent.attached import own_words
from agent.demo_asking import questions
from agent.demo_reading import carried, matching, quoted
from agent.demo_summary import KEPT, demo_summary
from agent.demo_texts import ABILITIES, ATTACHED, CODE, DEFAULT, GREETING, LONG, stocks, weather
from agent.demo_verdict import verdict
from agent.demo_ways import about_ways, wanted
from agent.prompts import COMPACTION_PROMPT, GO_ON
from agent.tools.calculator import NAMES, CalculatorError, parse

MOST_CALLS = 5
MOST_REMEMBERED = 8
LONGEST_QUOTE = 60  # characters of a remembered message
LONGEST_RESULT = 1500  # characters of a quoted tool result
ARGUMENT_FRAGMENT = 6  # characters, so that arguments arrive in pieces as they do from a provider


@dataclass(frozen=True)
class Call:
    """One tool call that the demo makes."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What the demo says, and the tools it calls afterwards."""

    text: str
    calls: tuple[Call, ...] = ()


class DemoChatModel(BaseChatModel):
    """Answers from the conversation alone: the same messages give the same answer, tool call ids included."""

    seconds_per_token: float = 0.02
    tool_names: frozenset[str] = frozenset()

    @property
    def _llm_type(self) -> str:
        return "demo"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **_: Any
    ) -> "DemoChatModel":
        names = frozenset(str(convert_to_openai_tool(tool)["function"]["name"]) for tool in tools)
        return self.model_copy(update={"tool_names": names})

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for message in _chunks(_answer(messages, self.tool_names), messages):
            chunk = ChatGenerationChunk(message=message)
            time.sleep(self.seconds_per_token)
            if run_manager is not None:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for message in _chunks(_answer(messages, self.tool_names), messages):
            chunk = ChatGenerationChunk(message=message)
            await asyncio.sleep(self.seconds_per_token)
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        first, *others = _chunks(_answer(messages, self.tool_names), messages)
        whole = add_ai_message_chunks(first, *others)
        message = AIMessage(
            content=whole.content,
            tool_calls=whole.tool_calls,
            response_metadata=whole.response_metadata,
            usage_metadata=whole.usage_metadata,
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)


def _chunks(answer: Answer, messages: Sequence[BaseMessage]) -> Iterator[AIMessageChunk]:
    """The answer as a provider streams it: words, then each call's name and its arguments in pieces, then the end."""
    for word in re.findall(r"\s*\S+\s*", answer.text):
        yield AIMessageChunk(content=word)
    fingerprint = _fingerprint(messages)
    for index, call in enumerate(answer.calls):
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        yield _call_chunk(index, name=call.name, identity=f"call_{fingerprint}_{index}")
        for start in range(0, len(arguments), ARGUMENT_FRAGMENT):
            yield _call_chunk(index, arguments=arguments[start : start + ARGUMENT_FRAGMENT])
    read = sum(len(message.text) for message in messages) // 4 + 1
    written = (len(answer.text) + sum(len(str(call.arguments)) for call in answer.calls)) // 4 + 1
    yield AIMessageChunk(
        content="",
        response_metadata={"finish_reason": "tool_calls" if answer.calls else "stop", "model_name": "demo"},
        usage_metadata=UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written),
        chunk_position="last",
    )


def _call_chunk(index: int, *, name: str | None = None, identity: str | None = None, arguments: str = "") -> AIMessageChunk:
    return AIMessageChunk(
        content="", tool_call_chunks=[tool_call_chunk(name=name, args=arguments, id=identity, index=index)]
    )


def _fingerprint(messages: Sequence[BaseMessage]) -> str:
    said = [[message.type, message.text, getattr(message, "tool_call_id", None)] for message in messages]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:20]


def _answer(messages: Sequence[BaseMessage], tool_names: frozenset[str]) -> Answer:
    """After tool results only text: what a tool returned never leads to another call."""
    if messages and isinstance(messages[-1], ToolMessage):
        return Answer(_about_results(messages))
    if len(messages) == 2 and not tool_names and (written := _about_conversation(*messages)):
        return Answer(written)
    if len(messages) > 1 and messages[-1].text == GO_ON and isinstance(messages[-2], AIMessage):
        whole, begun = _answer(messages[:-2], tool_names).text, _spoken(messages[-2])
        return Answer(whole.removeprefix(begun) if whole != begun else "That was all.")
    said = [_spoken(message) for message in messages if isinstance(message, HumanMessage)]
    last = said[-1] if said else ""
    if note := carried(said[-1:]):
        return Answer(f"I went back in time and carried this over:\n\n{_quoted(note)}{_remembered(said)}")
    looked = ATTACHED if messages and isinstance(messages[-1].content, list) else ""
    found = quoted([message.text for message in messages if isinstance(message, AIMessage)])
    known = matching(last, carried(said))
    recalled = Answer("From what I carried over:\n\n" + _quoted("\n".join(known))) if known else None
    called = _asking(last, tool_names) or _trying(last, tool_names) or _tool_answer(last, tool_names, found)
    return called or recalled or Answer(_plain_answer(last) + looked + _remembered(said))


def _about_conversation(system: BaseMessage, question: BaseMessage) -> str | None:
    """What it says when it is asked for a summary, or to judge."""
    return demo_summary(question.text) if system.text == COMPACTION_PROMPT else verdict(question.text)


def _spoken(message: BaseMessage) -> str:
    """The text without the position mark that requests carry."""
    text = own_words(message) if isinstance(message, HumanMessage) else message.text
    return re.sub(r"\A\s*\[msg_\d+\]\s*", "", text)


def _asking(text: str, tool_names: frozenset[str]) -> Answer | None:
    asked = questions(text)[:MOST_CALLS] if "ask_agent" in tool_names else []
    return Answer("I will ask.", tuple(Call("ask_agent", each) for each in asked)) if asked else None


def _trying(text: str, tool_names: frozenset[str]) -> Answer | None:
    ways = wanted(text) if "fork" in tool_names else []
    return Answer("I will try them side by side.", (Call("fork", {"prompts": ways}),)) if ways else None


def _tool_answer(text: str, tool_names: frozenset[str], found: Sequence[str]) -> Answer | None:
    query = re.search(r"\b(?:search(?: the web)? for|look up)\s+([^\n]+)", text, re.IGNORECASE)
    if query is not None and "web_search" not in tool_names:
        return Answer("Web search is not set up here. Set `TAVILY_API_KEY` and start Waymark again to use it.")
    if query is not None:
        return Answer("I will look that up.", (Call("web_search", {"query": query[1].strip(" .?!\"'")[:200]}),))
    back = re.search(r"\b(?:go back to|start over)\b(?:.*?\bmsg_(\d+))?", text, re.IGNORECASE | re.DOTALL)
    if back is not None and "goto" in tool_names:
        note = [f"The user wanted to go back, and said: {_short(text)}", *(found if "carry" in text else ())]
        return Answer("I will go back.", (Call("goto", {"position": f"msg_{back[1] or 0}", "message": "\n".join(note)}),))
    file = re.search(r"\bread `?([\w/-]+\.\w+)", text, re.IGNORECASE)
    if file is not None and "read_file" in tool_names:
        return Answer("I will read it.", (Call("read_file", {"path": file[1]}),))
    sums = _sums(text)
    if not sums or "calculator" not in tool_names:
        return None
    return Answer("Let me calculate that.", tuple(Call("calculator", {"expression": each}) for each in sums))


_FUNCTION = "|".join(sorted(NAMES, key=len, reverse=True))
_ARITHMETIC = re.compile(rf"(?:\b(?:{_FUNCTION})\b|[\d.,+\-−*/%^×÷() \t])+")
_OPERATION = re.compile(r"(?:pi|[\d.)])\s*(?:\*\*|//|[+\-−*/%^×÷])\s*[-\d.(a-z]|[a-z0-9]\([^)]")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}")
_RANGE = re.compile(r"\d+[-/]\d+")  # "3-4 people" and "24/7" are not sums unless something is asked
_QUESTION = re.compile(r"what|how|calc|comput|evaluat|=|\A\s*[-\d/]+\s*\Z", re.IGNORECASE)
_LONGEST_SUMS = 1000  # characters of one stretch of arithmetic; beyond that it is a table of figures


def _sums(text: str) -> list[str]:
    """Every piece of the text that reads as arithmetic; dates do not."""
    found: list[str] = []
    for match in _ARITHMETIC.finditer(_DATE.sub("date", text)):
        if len(match[0]) > _LONGEST_SUMS:
            continue
        whole = _trimmed(match[0])
        found += [whole] if _is_sum(whole) else filter(_is_sum, map(_trimmed, re.split(r"[,.]\s", whole)))
    asked = _QUESTION.search(text) is not None
    return [each for each in dict.fromkeys(found) if asked or not _RANGE.fullmatch(each)][:MOST_CALLS]


def _trimmed(text: str) -> str:
    text = text.strip(" \t.,")
    while text.count(")") > text.count("(") and text.endswith(")"):
        text = text[:-1].rstrip(" .,")
    while text.count("(") > text.count(")") and text.startswith("("):
        text = text[1:].lstrip()
    return text


def _is_sum(text: str) -> bool:
    try:
        parse(text)
    except CalculatorError:
        return False
    return _OPERATION.search(text) is not None


def _about_results(messages: Sequence[BaseMessage]) -> str:
    """One paragraph for each result of the last round of calls."""
    calls = {call["id"]: call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    results: list[ToolMessage] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        results.insert(0, message)
    asked = next((_spoken(message) for message in reversed(messages) if isinstance(message, HumanMessage)), "")
    return "\n\n".join(_about_result(result, calls.get(result.tool_call_id), asked) for result in results)


def _about_result(result: ToolMessage, call: Any, asked: str) -> str:
    name = call["name"] if call else result.name or "tool"
    text = _spoken(result).strip()
    if result.status == "error":
        return f"The `{name}` tool could not do it:\n\n{_quoted(text)}"
    if name == "ask_agent" and call:
        return f"The {call['args'].get('agent', 'agent')} says:\n\n{_quoted(text)}"
    if name == "fork":
        return about_ways(text)
    if name == "calculator" and call:
        return f"`{call['args'].get('expression', '')}` = **{text}**"
    if name == "read_file" and (lines := matching(asked, text)):
        return "I have read it, and found:\n\n" + _quoted("\n".join(lines))
    return f"This is what `{name}` returned. I am the demo and cannot judge it, so here it is as it came:\n\n{_quoted(text)}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip()[:LONGEST_RESULT].splitlines())


def _remembered(said: Sequence[str]) -> str:
    """What is on the path now: going back makes this list shorter."""
    if not said:
        return ""
    first = max(len(said) - MOST_REMEMBERED, 0)
    lines = [f"{number}. {_short(text)}" for number, text in enumerate(said[first:], start=first + 1)]
    earlier = f" (and {first} more before)" if first else ""
    return f"\n\nSo far you asked about{earlier}:\n\n" + "\n".join(lines)


def _short(text: str) -> str:
    note = "a note from a journey back in time" if "<time_travel_message>" in text else "a summary" if KEPT in text else ""
    line = note or " ".join(text.split())
    cut = line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1].rstrip() + "…"
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", cut)


def _plain_answer(text: str) -> str:
    answers: tuple[tuple[str, Callable[[str], str]], ...] = (
        (r"\b(?:long|essay|detailed)\b", lambda _: LONG),
        (r"\bwhat (?:can|do) (?:you|i) do\b|\bhelp\b|\bwho are you\b", lambda _: ABILITIES),
        (r"\bweather\b|\bforecast\b|\btemperature\b|\btomorrow\b|\bweekend\b", weather),
        (r"\bstocks?\b|\bshares?\b|\bprice of\b", stocks),
        (r"\bcode\b|\bpython\b|\bfunction\b|\bprogram\b|\bscript\b", lambda _: CODE),
        (r"^\W*(?:hi|hello|hey|good (?:morning|evening|afternoon))\b", lambda _: GREETING),
    )
    for pattern, answer in answers:
        if re.search(pattern, text, re.IGNORECASE):
            return answer(text)
    return f"You said: “{_short(text)}”\n\n{DEFAULT}"
