"""A deterministic model without a key and a network: it demonstrates Waymark, and its answers say so.

It lists the messages on the path, because going back, branching and restoring change that list.
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

from agent.context.attachments import extract_user_text
from agent.context.prompts import COMPACTION_PROMPT, CONTINUE_TEXT
from agent.demo.asking import parse_questions
from agent.demo.attempts import describe_attempts, parse_attempts
from agent.demo.reading import find_matching_lines, find_quoted_lines, read_notes
from agent.demo.summary import SUMMARY_OPENING, write_demo_summary
from agent.demo.texts import ABILITIES, ATTACHED, CODE, DEFAULT, GREETING, LONG, invent_stocks, invent_weather
from agent.demo.verdict import write_demo_verdict
from agent.tools.calculator import KNOWN_NAMES, CalculatorError, parse_expression
from checkpoints.text import shorten_line

MAX_DEMO_CALLS = 5
MAX_REMEMBERED_MESSAGES = 8
MAX_DEMO_QUOTE_CHARS = 60  # characters of a remembered message
MAX_QUOTED_RESULT_CHARS = 1500  # characters of a quoted tool result
ARGUMENT_FRAGMENT_CHARS = 6  # characters, so that arguments arrive in pieces as they do from a provider


@dataclass(frozen=True)
class DemoCall:
    """One tool call that the demo makes."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class DemoAnswer:
    """The demo's text, and the tool calls after it."""

    text: str
    calls: tuple[DemoCall, ...] = ()


class DemoChatModel(BaseChatModel):
    """A model that answers from the conversation alone: the same messages give the same answer and call ids."""

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
        for message in _split_answer(_choose_answer(messages, self.tool_names), messages):
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
        for message in _split_answer(_choose_answer(messages, self.tool_names), messages):
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
        first, *others = _split_answer(_choose_answer(messages, self.tool_names), messages)
        chunk = add_ai_message_chunks(first, *others)
        message = AIMessage(
            content=chunk.content,
            tool_calls=chunk.tool_calls,
            response_metadata=chunk.response_metadata,
            usage_metadata=chunk.usage_metadata,
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


def _split_answer(answer: DemoAnswer, messages: Sequence[BaseMessage]) -> Iterator[AIMessageChunk]:
    """Yield the answer as a provider streams it: words, then each call's name and its arguments in pieces, then the end."""
    for word in re.findall(r"\s*\S+\s*", answer.text):
        yield AIMessageChunk(content=word)
    fingerprint = _hash_messages(messages)
    for index, call in enumerate(answer.calls):
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        yield _make_call_chunk(index, name=call.name, identity=f"call_{fingerprint}_{index}")
        for start in range(0, len(arguments), ARGUMENT_FRAGMENT_CHARS):
            yield _make_call_chunk(index, arguments=arguments[start : start + ARGUMENT_FRAGMENT_CHARS])
    read = sum(len(message.text) for message in messages) // 4 + 1
    written = (len(answer.text) + sum(len(str(call.arguments)) for call in answer.calls)) // 4 + 1
    yield AIMessageChunk(
        content="",
        response_metadata={"finish_reason": "tool_calls" if answer.calls else "stop", "model_name": "demo"},
        usage_metadata=UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written),
        chunk_position="last",
    )


def _make_call_chunk(
    index: int, *, name: str | None = None, identity: str | None = None, arguments: str = ""
) -> AIMessageChunk:
    return AIMessageChunk(
        content="", tool_call_chunks=[tool_call_chunk(name=name, args=arguments, id=identity, index=index)]
    )


def _hash_messages(messages: Sequence[BaseMessage]) -> str:
    contents = [[message.type, message.text, getattr(message, "tool_call_id", None)] for message in messages]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:20]


def _choose_answer(messages: Sequence[BaseMessage], tool_names: frozenset[str]) -> DemoAnswer:
    """Return the answer. After tool results it is only text: a result never leads to another call."""
    if messages and isinstance(messages[-1], ToolMessage):
        return DemoAnswer(_report_results(messages))
    if len(messages) == 2 and not tool_names and (written := _answer_about_conversation(*messages)):
        return DemoAnswer(written)
    if len(messages) > 1 and messages[-1].text == CONTINUE_TEXT and isinstance(messages[-2], AIMessage):
        complete, beginning = _choose_answer(messages[:-2], tool_names).text, _strip_marks(messages[-2])
        return DemoAnswer(complete.removeprefix(beginning) if complete != beginning else "That was all.")
    user_texts = [_strip_marks(message) for message in messages if isinstance(message, HumanMessage)]
    last = user_texts[-1] if user_texts else ""
    if note := read_notes(user_texts[-1:]):
        return DemoAnswer(f"I went back in time and carried this over:\n\n{_quote_lines(note)}{_list_questions(user_texts)}")
    looked = ATTACHED if messages and isinstance(messages[-1].content, list) else ""
    found = find_quoted_lines([message.text for message in messages if isinstance(message, AIMessage)])
    known = find_matching_lines(last, read_notes(user_texts))
    recalled = DemoAnswer("From what I carried over:\n\n" + _quote_lines("\n".join(known))) if known else None
    called = (
        _answer_by_asking(last, tool_names)
        or _answer_by_forking(last, tool_names)
        or _answer_by_tool(last, tool_names, found)
    )
    return called or recalled or DemoAnswer(_answer_from_text(last) + looked + _list_questions(user_texts))


def _answer_about_conversation(system: BaseMessage, question: BaseMessage) -> str | None:
    """Return the answer to a request for a summary or a verdict."""
    return write_demo_summary(question.text) if system.text == COMPACTION_PROMPT else write_demo_verdict(question.text)


def _strip_marks(message: BaseMessage) -> str:
    """Return the text without the message number of a request."""
    text = extract_user_text(message) if isinstance(message, HumanMessage) else message.text
    return re.sub(r"\A\s*\[msg_\d+\]\s*", "", text)


def _answer_by_asking(text: str, tool_names: frozenset[str]) -> DemoAnswer | None:
    questions = parse_questions(text)[:MAX_DEMO_CALLS] if "ask_agent" in tool_names else []
    return DemoAnswer("I will ask.", tuple(DemoCall("ask_agent", each) for each in questions)) if questions else None


def _answer_by_forking(text: str, tool_names: frozenset[str]) -> DemoAnswer | None:
    ways = parse_attempts(text) if "fork" in tool_names else []
    return DemoAnswer("I will try them side by side.", (DemoCall("fork", {"prompts": ways}),)) if ways else None


def _answer_by_tool(text: str, tool_names: frozenset[str], found: Sequence[str]) -> DemoAnswer | None:
    query = re.search(r"\b(?:search(?: the web)? for|look up)\s+([^\n]+)", text, re.IGNORECASE)
    if query is not None and "web_search" not in tool_names:
        return DemoAnswer("Web search is not set up here. Set `TAVILY_API_KEY` and start Waymark again to use it.")
    if query is not None:
        return DemoAnswer("I will look that up.", (DemoCall("web_search", {"query": query[1].strip(" .?!\"'")[:200]}),))
    back = re.search(r"\b(?:go back to|start over)\b(?:.*?\bmsg_(\d+))?", text, re.IGNORECASE | re.DOTALL)
    if back is not None and "goto" in tool_names:
        note = [f"The user wanted to go back, and said: {_shorten_quote(text)}", *(found if "carry" in text else ())]
        return DemoAnswer(
            "I will go back.", (DemoCall("goto", {"position": f"msg_{back[1] or 0}", "message": "\n".join(note)}),)
        )
    file = re.search(r"\bread `?([\w/-]+\.\w+)", text, re.IGNORECASE)
    if file is not None and "read_file" in tool_names:
        return DemoAnswer("I will read it.", (DemoCall("read_file", {"path": file[1]}),))
    sums = _find_sums(text)
    if not sums or "calculator" not in tool_names:
        return None
    return DemoAnswer("Let me calculate that.", tuple(DemoCall("calculator", {"expression": each}) for each in sums))


_FUNCTION = "|".join(sorted(KNOWN_NAMES, key=len, reverse=True))
_ARITHMETIC = re.compile(rf"(?:\b(?:{_FUNCTION})\b|[\d.,+\-−*/%^×÷() \t])+")
_OPERATION = re.compile(r"(?:pi|[\d.)])\s*(?:\*\*|//|[+\-−*/%^×÷])\s*[-\d.(a-z]|[a-z0-9]\([^)]")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}")
_RANGE = re.compile(r"\d+[-/]\d+")  # "3-4 people" and "24/7" are sums only in a question
_QUESTION = re.compile(r"what|how|calc|comput|evaluat|=|\A\s*[-\d/]+\s*\Z", re.IGNORECASE)
_MAX_ARITHMETIC_CHARS = 1000  # characters of one piece; a longer one is a table of figures


def _find_sums(text: str) -> list[str]:
    """Return the pieces of the text that are arithmetic; dates are not."""
    found: list[str] = []
    for match in _ARITHMETIC.finditer(_DATE.sub("date", text)):
        if len(match[0]) > _MAX_ARITHMETIC_CHARS:
            continue
        piece = _trim_sum(match[0])
        found += [piece] if _is_sum(piece) else filter(_is_sum, map(_trim_sum, re.split(r"[,.]\s", piece)))
    is_question = _QUESTION.search(text) is not None
    return [each for each in dict.fromkeys(found) if is_question or not _RANGE.fullmatch(each)][:MAX_DEMO_CALLS]


def _trim_sum(text: str) -> str:
    text = text.strip(" \t.,")
    while text.count(")") > text.count("(") and text.endswith(")"):
        text = text[:-1].rstrip(" .,")
    while text.count("(") > text.count(")") and text.startswith("("):
        text = text[1:].lstrip()
    return text


def _is_sum(text: str) -> bool:
    try:
        parse_expression(text)
    except CalculatorError:
        return False
    return _OPERATION.search(text) is not None


def _report_results(messages: Sequence[BaseMessage]) -> str:
    """Return one paragraph for each result of the last round of calls."""
    calls = {call["id"]: call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    results: list[ToolMessage] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        results.insert(0, message)
    question = next((_strip_marks(message) for message in reversed(messages) if isinstance(message, HumanMessage)), "")
    return "\n\n".join(_report_result(result, calls.get(result.tool_call_id), question) for result in results)


def _report_result(result: ToolMessage, call: Any, question: str) -> str:
    name = call["name"] if call else result.name or "tool"
    text = _strip_marks(result).strip()
    if result.status == "error":
        return f"The `{name}` tool could not do it:\n\n{_quote_lines(text)}"
    if name == "ask_agent" and call:
        return f"The {call['args'].get('agent', 'agent')} says:\n\n{_quote_lines(text)}"
    if name == "fork":
        return describe_attempts(text)
    if name == "calculator" and call:
        return f"`{call['args'].get('expression', '')}` = **{text}**"
    if name == "read_file" and (lines := find_matching_lines(question, text)):
        return "I have read it, and found:\n\n" + _quote_lines("\n".join(lines))
    quoted = _quote_lines(text)
    return f"This is what `{name}` returned. I am the demo and cannot judge it, so here it is as it came:\n\n{quoted}"


def _quote_lines(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip()[:MAX_QUOTED_RESULT_CHARS].splitlines())


def _list_questions(user_texts: Sequence[str]) -> str:
    """Return the list of the user's messages on the path; going back makes it shorter."""
    if not user_texts:
        return ""
    first = max(len(user_texts) - MAX_REMEMBERED_MESSAGES, 0)
    lines = [f"{number}. {_shorten_quote(text)}" for number, text in enumerate(user_texts[first:], start=first + 1)]
    earlier = f" (and {first} more before)" if first else ""
    return f"\n\nSo far you asked about{earlier}:\n\n" + "\n".join(lines)


def _shorten_quote(text: str) -> str:
    note = (
        "a note from a move back in time"
        if "<time_travel_message>" in text
        else "a summary"
        if SUMMARY_OPENING in text
        else ""
    )
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", note or shorten_line(text, MAX_DEMO_QUOTE_CHARS))


def _answer_from_text(text: str) -> str:
    answers: tuple[tuple[str, Callable[[str], str]], ...] = (
        (r"\b(?:long|essay|detailed)\b", lambda _: LONG),
        (r"\bwhat (?:can|do) (?:you|i) do\b|\bhelp\b|\bwho are you\b", lambda _: ABILITIES),
        (r"\bweather\b|\bforecast\b|\btemperature\b|\btomorrow\b|\bweekend\b", invent_weather),
        (r"\bstocks?\b|\bshares?\b|\bprice of\b", invent_stocks),
        (r"\bcode\b|\bpython\b|\bfunction\b|\bprogram\b|\bscript\b", lambda _: CODE),
        (r"^\W*(?:hi|hello|hey|good (?:morning|evening|afternoon))\b", lambda _: GREETING),
    )
    for pattern, answer in answers:
        if re.search(pattern, text, re.IGNORECASE):
            return answer(text)
    return f"You said: “{_shorten_quote(text)}”\n\n{DEFAULT}"
