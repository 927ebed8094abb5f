"""The rules that OpenAI holds a list of messages to. A request that breaks one is refused, as the real service does.

Three rules are stricter than the service's own: tool arguments must be a JSON object (several compatible servers refuse
anything else), an id may be used for one call only in the whole list, and no two tools may have one name (an id or a name
used twice is always our mistake).
"""

import json
import re
from typing import Any

from tests.fakes.server import JSON, Refusal

PARTS = {  # of a content that is a list: which kinds there are, by role
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}
ROLES = tuple(PARTS)
LONGEST_ID = 40
MOST_TOOLS = 128
FUNCTION = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PARTICIPANT = re.compile(r"[^\s<|\\/>]{1,64}")


def check_messages(messages: Any) -> None:
    """Raises Refusal for the first message that breaks the pairing of calls and results, the order or the roles."""
    if not isinstance(messages, list) or not messages:
        raise Refusal("Invalid 'messages': expected a non-empty array.", param="messages")
    asked: set[str] = set()
    open_calls: list[str] = []
    for index, message in enumerate(messages):
        param = f"messages.[{index}]"
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ROLES:
            raise Refusal(f"Invalid value: {role!r}. Supported values are: {', '.join(ROLES)}.", param=f"{param}.role")
        if role != "tool":
            _check_answered(open_calls, param)
        _check_content(message, param)
        _check_name(message, param)
        if role == "tool":
            _close_call(message, open_calls, param)
            continue
        open_calls = _calls_of(message, asked, param)
    _check_answered(open_calls, "messages")


def check_tools(tools: Any) -> None:
    """Raises Refusal for an empty list of tools, and for names that are none or stand there twice."""
    if tools is None:
        return
    if not isinstance(tools, list) or not 1 <= len(tools) <= MOST_TOOLS:
        raise Refusal(f"Invalid 'tools': expected an array with 1 to {MOST_TOOLS} items.", param="tools")
    names: set[str] = set()
    for index, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        _check_function(name, f"tools[{index}].function.name")
        if name in names:
            raise Refusal(f"Duplicate tool name {name!r}.", param=f"tools[{index}].function.name")
        names.add(str(name))


def _check_function(name: Any, param: str) -> None:
    if not isinstance(name, str) or not FUNCTION.fullmatch(name):
        raise Refusal(f"Invalid '{param}': {name!r} does not match the pattern '^{FUNCTION.pattern}$'.", param=param)


def _check_name(message: JSON, param: str) -> None:
    if (name := message.get("name")) is not None and not (isinstance(name, str) and PARTICIPANT.fullmatch(name)):
        raise Refusal(f"Invalid '{param}.name': {name!r}.", param=f"{param}.name")


def _close_call(message: JSON, open_calls: list[str], param: str) -> None:
    call_id = message.get("tool_call_id")
    if call_id not in open_calls:
        raise Refusal(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"
            f" (tool_call_id {call_id!r}: unknown, already answered, or too late).",
            param=f"{param}.role",
        )
    open_calls.remove(call_id)


def _check_answered(open_calls: list[str], param: str) -> None:
    if open_calls:
        raise Refusal(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            f" 'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(open_calls)}",
            param=param,
        )


def _check_content(message: JSON, param: str) -> None:
    content = message.get("content")
    if isinstance(content, str) or (content is None and message.get("tool_calls")):
        return
    if isinstance(content, list) and content:
        kinds = [part.get("type") if isinstance(part, dict) else part for part in content]
        if strange := [kind for kind in kinds if kind not in PARTS[message["role"]]]:
            raise Refusal(f"Invalid value: {strange[0]!r} in content of role {message['role']!r}.", param=f"{param}.content")
        return
    raise Refusal(f"Invalid value for 'content': expected a string, got {content!r}.", param=f"{param}.content")


def _calls_of(message: JSON, asked: set[str], param: str) -> list[str]:
    """The ids of the calls in an assistant message, each one checked and added to those that were ever asked."""
    calls = message.get("tool_calls")
    if calls is None:
        return []
    if message["role"] != "assistant" or not isinstance(calls, list) or not calls:
        raise Refusal("'tool_calls' must be a non-empty array in an assistant message.", param=f"{param}.tool_calls")
    for index, call in enumerate(calls):
        _check_call(call, asked, f"{param}.tool_calls[{index}]")
        asked.add(call["id"])
    return [call["id"] for call in calls]


def _check_call(call: Any, asked: set[str], param: str) -> None:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or call.get("type") != "function":
        raise Refusal("A tool call needs type 'function' and a function with a name.", param=param)
    _check_function(function.get("name"), f"{param}.function.name")
    call_id = call.get("id")
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= LONGEST_ID:
        raise Refusal(f"A tool call needs an id of 1 to {LONGEST_ID} characters, not {call_id!r}.", param=f"{param}.id")
    if call_id in asked:
        raise Refusal(f"Duplicate tool call id {call_id!r}.", param=f"{param}.id")
    if not _is_json_object(function.get("arguments")):
        raise Refusal("Tool arguments must be a string that holds a JSON object.", param=f"{param}.function.arguments")


def _is_json_object(text: Any) -> bool:
    if not isinstance(text, str):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
