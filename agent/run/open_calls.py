"""Tool calls without a result. When a run ends, each gets a result that says whether it may have had an effect."""

import asyncio
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agent.context.request import NOT_CARRIED_OUT_TEXT
from agent.subagents.delegation import OpenCall
from agent.tools.decisions import STOPPED_TEXT


@dataclass(frozen=True, slots=True)
class _OpenTool:
    name: str
    agent: str


class OpenCalls:
    """The open calls of a run, by id. Each part of a run, a candidate, has its own."""

    def __init__(self) -> None:
        self._parts: list[OpenCalls] = []
        # Set whenever a call gets its result, or messages have been written.
        self._closed = asyncio.Event()
        self._tools: dict[str, _OpenTool] = {}
        # Ids of all calls so far, and of the calls that may have had an effect.
        self._call_ids: set[str] = set()
        self._begun_ids: set[str] = set()
        # Number of messages that are being written.
        self._writes = 0

    @property
    def are_open(self) -> bool:
        """Return whether a tool may be at work, or a message with a call may be being written, here or in a part."""
        return bool(self._tools) or self._writes > 0 or any(part.are_open for part in self._parts)

    @contextmanager
    def expect_messages(self) -> Iterator[None]:
        """Expect new calls while the block writes and notes messages."""
        self._writes += 1
        try:
            yield
        finally:
            self._writes -= 1
            self._closed.set()

    def begin_part(self) -> "OpenCalls":
        part = OpenCalls()
        part._closed = self._closed
        self._parts.append(part)
        return part

    async def wait_for_results(self) -> None:
        """Wait until no tool is at work."""
        while self.are_open:
            self._closed.clear()
            await self._closed.wait()

    def reopen_calls(self, calls: Iterable[OpenCall]) -> None:
        """Reopen calls of an earlier run, innermost first."""
        for each in reversed(list(calls)):
            self._tools[each.call["id"] or ""] = _OpenTool(each.call["name"], each.agent)
            # An agent works on the question already.
            if each.question is not None:
                self._begun_ids.add(each.call["id"] or "")
        self._call_ids.update(self._tools)

    def make_unique_id(self, call_id: str) -> str:
        unique = call_id if call_id not in self._call_ids else f"call_{uuid.uuid4().hex[:24]}"
        self._call_ids.add(unique)
        return unique

    def note_start(self, call_id: str) -> None:
        self._begun_ids.add(call_id)

    def note_message(self, message: BaseMessage, agent: str) -> None:
        """Note the calls in a message, or the call that it answers."""
        if isinstance(message, AIMessage):
            calls = [*message.tool_calls, *message.invalid_tool_calls]
            self._tools.update({call["id"] or "": _OpenTool(call["name"] or "", agent) for call in calls})
        elif isinstance(message, ToolMessage):
            self._tools.pop(message.tool_call_id, None)
            self._closed.set()

    def forget_calls(self) -> None:
        self._tools.clear()
        self._closed.set()

    def make_results_of(self, agent: str) -> list[ToolMessage]:
        return [self._make_result(call_id, tool) for call_id, tool in self._tools.items() if tool.agent == agent]

    def make_results(self) -> list[tuple[ToolMessage, str]]:
        """Make the results of all calls, with their agents. A sub-agent's results come before its caller's."""
        agents = dict.fromkeys(tool.agent for tool in self._tools.values())
        return [(result, agent) for agent in reversed(agents) for result in self.make_results_of(agent)]

    def _make_result(self, call_id: str, tool: _OpenTool) -> ToolMessage:
        text = STOPPED_TEXT if call_id in self._begun_ids else NOT_CARRIED_OUT_TEXT
        return ToolMessage(text, tool_call_id=call_id, name=tool.name, status="error")
