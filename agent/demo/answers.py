"""The demo model's answers: the choice for a conversation, and the texts and tool calls of each.

Most answers list the messages on the path, because going back, branching and restoring change the list.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.context import numbering
from agent.context.attachments import extract_user_text
from agent.context.prompts import COMPACTION_PROMPT, CONCLUSION_PROMPT, CONTINUE_TEXT, TITLE_PROMPT
from agent.demo.reading import (
    describe_attempts,
    find_matching_lines,
    find_quoted_lines,
    find_sums,
    parse_attempts,
    parse_questions,
    read_notes,
)
from agent.demo.side_calls import SUMMARY_OPENING, write_demo_summary, write_demo_title, write_demo_verdict
from agent.demo.texts import ABILITIES, ATTACHED, CODE, DEFAULT, GREETING, LONG, invent_stocks, invent_weather
from checkpoints.values.text import shorten_line

MAX_DEMO_CALLS = 5
MAX_REMEMBERED_MESSAGES = 8
# Limits the quotation of a remembered message.
MAX_DEMO_QUOTE_CHARS = 60
MAX_QUOTED_RESULT_CHARS = 1500


@dataclass(frozen=True)
class DemoCall:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class DemoAnswer:
    """The demo's text, and the tool calls after it."""

    text: str
    calls: tuple[DemoCall, ...] = ()


def shorten_answer(answer: DemoAnswer) -> DemoAnswer:
    """Return the answer of the brief demo: the first sentence, and the same calls."""
    lines = (line for line in answer.text.splitlines() if line.strip() and not line.startswith(("#", "```", "*")))
    sentence = re.split(r"(?<=[.!?])\s", next(lines, ""), maxsplit=1)[0]
    return replace(answer, text=sentence and f"{sentence}\n\n*I am the brief demo: I stop after one sentence.*")


def choose_answer(messages: Sequence[BaseMessage], tool_names: frozenset[str]) -> DemoAnswer:
    """Return the answer. After tool results it is only text, since a result never leads to another call."""
    if messages and isinstance(messages[-1], ToolMessage):
        return DemoAnswer(_report_results(messages))
    if len(messages) == 2 and not tool_names and (text := _answer_about_conversation(*messages)):
        return DemoAnswer(text)
    if len(messages) > 1 and messages[-1].text == CONTINUE_TEXT and isinstance(messages[-2], AIMessage):
        complete, beginning = choose_answer(messages[:-2], tool_names).text, _strip_number(messages[-2])
        return DemoAnswer(complete.removeprefix(beginning) if complete != beginning else "That was all.")
    user_texts = [_strip_number(message) for message in messages if isinstance(message, HumanMessage)]
    last = user_texts[-1] if user_texts else ""
    if note := read_notes(user_texts[-1:]):
        return DemoAnswer(f"I went back in time and carried this over:\n\n{_quote_lines(note)}{_list_questions(user_texts)}")
    attachment_text = ATTACHED if messages and isinstance(messages[-1].content, list) else ""
    quoted_lines = find_quoted_lines([message.text for message in messages if isinstance(message, AIMessage)])
    matching_lines = find_matching_lines(last, read_notes(user_texts))
    recollection = (
        DemoAnswer("From what I carried over:\n\n" + _quote_lines("\n".join(matching_lines))) if matching_lines else None
    )
    call_answer = (
        _answer_by_asking(last, tool_names)
        or _answer_by_forking(last, tool_names)
        or _answer_by_tool(last, tool_names, quoted_lines)
    )
    return call_answer or recollection or DemoAnswer(_answer_from_text(last) + attachment_text + _list_questions(user_texts))


def _answer_about_conversation(system: BaseMessage, question: BaseMessage) -> str | None:
    """Return the answer to a request for a summary, a conclusion, a title or a verdict."""
    if system.text == TITLE_PROMPT:
        return write_demo_title(question.text)
    is_summary = system.text in (COMPACTION_PROMPT, CONCLUSION_PROMPT)
    return write_demo_summary(question.text) if is_summary else write_demo_verdict(question.text)


def _strip_number(message: BaseMessage) -> str:
    """Return the text without the message number of a request."""
    text = extract_user_text(message) if isinstance(message, HumanMessage) else message.text
    return numbering.strip_number(text)


def _answer_by_asking(text: str, tool_names: frozenset[str]) -> DemoAnswer | None:
    questions = parse_questions(text)[:MAX_DEMO_CALLS] if "ask_agent" in tool_names else []
    return DemoAnswer("I will ask.", tuple(DemoCall("ask_agent", each) for each in questions)) if questions else None


def _answer_by_forking(text: str, tool_names: frozenset[str]) -> DemoAnswer | None:
    ways = parse_attempts(text) if "fork" in tool_names else []
    return DemoAnswer("I will try them side by side.", (DemoCall("fork", {"prompts": ways}),)) if ways else None


def _answer_by_tool(text: str, tool_names: frozenset[str], quoted_lines: Sequence[str]) -> DemoAnswer | None:
    query = re.search(r"\b(?:search(?: the web)? for|look up)\s+([^\n]+)", text, re.IGNORECASE)
    if query is not None and "web_search" not in tool_names:
        return DemoAnswer("Web search is not set up here. Set `TAVILY_API_KEY` and start Waymark again to use it.")
    if query is not None:
        return DemoAnswer("I will look that up.", (DemoCall("web_search", {"query": query[1].strip(" .?!\"'")[:200]}),))
    back = re.search(r"\b(?:go back to|start over)\b(?:.*?\bm(?:sg_)?(\d+))?", text, re.IGNORECASE | re.DOTALL)
    if back is not None and "goto" in tool_names:
        note = [
            f"The user wanted to go back, and said: {shorten_line(text, MAX_DEMO_QUOTE_CHARS)}",
            *(quoted_lines if "carry" in text else ()),
        ]
        return DemoAnswer(
            "I will go back.", (DemoCall("goto", {"position": f"msg_{back[1] or 0}", "message": "\n".join(note)}),)
        )
    file = re.search(r"\bread `?([\w/-]+\.\w+)", text, re.IGNORECASE)
    if file is not None and "read_file" in tool_names:
        return DemoAnswer("I will read it.", (DemoCall("read_file", {"path": file[1]}),))
    sums = find_sums(text)[:MAX_DEMO_CALLS]
    if not sums or "calculator" not in tool_names:
        return None
    return DemoAnswer("Let me calculate that.", tuple(DemoCall("calculator", {"expression": each}) for each in sums))


def _report_results(messages: Sequence[BaseMessage]) -> str:
    """Return a paragraph for each result of the last round of calls."""
    calls = {call["id"]: call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    results: list[ToolMessage] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        results.insert(0, message)
    question = next((_strip_number(message) for message in reversed(messages) if isinstance(message, HumanMessage)), "")
    return "\n\n".join(_report_result(result, calls.get(result.tool_call_id), question) for result in results)


def _report_result(result: ToolMessage, call: Any, question: str) -> str:
    name = call["name"] if call else result.name or "tool"
    text = _strip_number(result).strip()
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
    """Return the list of the user's messages on the path. Going back makes it shorter."""
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
