"""Fakes that call the tool that a request offers, with arguments of the right types."""

import json
import re
from typing import Any

from starlette.requests import Request

from tests.fakes.answers import Call, Say
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.faults import Frame, Reply
from tests.fakes.openai import FakeOpenAI
from tests.fakes.server import JSON

QUOTED = re.compile(r"'([^']+)'")
OTHER_VALUES: JSON = {"integer": 3, "number": 3, "boolean": True}


def choose_reply(body: JSON) -> Reply:
    """Return an answer, or a call where a tool is offered and the last message is no result."""
    written = json.dumps(body.get("messages") or body["input"], ensure_ascii=False)
    question = found[1] if (found := QUOTED.search(written)) else "Some words."
    tools = [tool.get("function", tool) for tool in body.get("tools") or ()]
    if not tools or "tool_result" in written[-600:] or re.search(r'"role": "tool"|function_call_output', written[-600:]):
        return Say(question)
    chosen = find_name(body.get("tool_choice"))
    tool = next((each for each in tools if each["name"] == chosen), tools[0])
    schema = tool.get("parameters") or tool.get("input_schema") or {}
    return Call(tool["name"], fill(schema, question))


def find_name(choice: Any) -> str | None:
    """Return the name in a choice of tools, in any provider's words."""
    return choice.get("name") or (choice.get("function") or {}).get("name") if isinstance(choice, dict) else None


def fill(schema: JSON, text: str) -> Any:
    """Return a value that a schema describes."""
    if "properties" in schema or schema.get("type") == "object":
        return {name: fill(each, text) for name, each in (schema.get("properties") or {}).items()}
    return text if schema.get("type", "string") == "string" else OTHER_VALUES[schema["type"]]


class ObedientOpenAI(FakeOpenAI):
    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        return super().answer(request, body, reply or choose_reply(body), number)


class ObedientAnthropic(FakeAnthropic):
    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        return super().answer(request, body, reply or choose_reply(body), number)
