"""Tools of other programs over the Model Context Protocol. Only this module knows the protocol.

Each server has one open session in its own task, since many servers keep state between calls, such as a browser's page.
A broken session is opened again, but its calls are not repeated, because their effects are unknown. The libraries take
more than a second to import, so they load only if a server is configured.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, ToolException

from agent.fence import Fence
from agent.tools.remote_tool import MAX_REMOTE_RESULT_CHARS, UnusableSchemaError, adapt_tool, read_result
from checkpoints.values.text import shorten_for_model

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.client import Transport
    from mcp_types import CallToolResult, Tool

# A program may have to be downloaded first.
MAX_OPEN_SECONDS = 30.0
# A call waits this long for a session.
MAX_SESSION_WAIT_SECONDS = 10.0
PING_INTERVAL_SECONDS = 30.0
MAX_PING_SECONDS = 5.0
# Wait this long after a line that is no message, since a program may only have printed something before its answer.
MAX_NOISE_SECONDS = 2.0
# A server may still work on a stopped call. This is shorter than the deadline of tools.
MAX_BUSY_SECONDS = 55.0
# The pause before the next try.
MIN_RETRY_PAUSE_SECONDS, MAX_RETRY_PAUSE_SECONDS = 0.5, 60.0
MAX_SERVER_TOOLS = 64
# Built-in and remote tools. Providers take 128, and a run adds its own (fork, goto …).
MAX_TOOLS = 120
FENCE = Fence("result of another program")
_UNREADABLE = "gave an answer that is too long or no message of the protocol"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server of tools: a `command` to start, or a `url`. With `approval`, its tools ask a person before they run."""

    name: str
    command: str | None = None
    args: Sequence[str] = ()
    # `env` and `headers` may hold secrets, so the representation leaves them out.
    env: dict[str, str] = field(default_factory=dict, repr=False)
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    approval: bool = True


class McpServers:
    """Adds the tools of all servers after the built-in tools in `tools`, and their names to `approval`.

    Both collections belong to the graph. A server's tools appear when it is reachable, and no start waits for it.
    """

    def __init__(self, servers: Sequence[McpServer], tools: list[BaseTool], approval: set[str]) -> None:
        self._connections = [_ServerConnection(server, self._publish_tools) for server in servers]
        self._tools = tools
        self._own_count = len(tools)
        self._approval = approval
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(each.keep_open(), name=f"mcp {each.server.name}") for each in self._connections]

    async def close(self) -> None:
        """End the sessions and their programs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _publish_tools(self) -> None:
        # The approval comes first: no tool may exist for a moment without it.
        for each in self._connections:
            self._approval.update(tool.name for tool in each.tools if each.server.approval)
        # Names of two servers can be equal: `b__c` of `a`, `c` of `a__b`. Providers refuse requests with a name twice.
        by_name = {tool.name: tool for tool in self._tools[: self._own_count]}
        for tool in (tool for each in self._connections for tool in each.tools):
            by_name.setdefault(tool.name, tool)
        if (left_out := len(by_name) - MAX_TOOLS) > 0:
            _log.warning("%s of the MCP servers' tools are not offered: there are more than %s", left_out, MAX_TOOLS)
        self._tools[self._own_count :] = list(by_name.values())[self._own_count : MAX_TOOLS]


class _ServerConnection:
    """One server: its open session, if any, and its latest tools."""

    def __init__(self, server: McpServer, on_change: Callable[[], None]) -> None:
        self.server = server
        self.tools: list[BaseTool] = []
        self._on_change = on_change
        self._session: ClientSession | None = None
        self._session_count = 0
        self._is_open = asyncio.Event()
        # Set after a failed call.
        self._needs_check = asyncio.Event()
        # Unanswered calls and their start times.
        self._pending_calls: dict[asyncio.Task[CallToolResult], float] = {}

    async def keep_open(self) -> None:
        """Hold a session open as long as the app runs."""
        await asyncio.to_thread(import_module, "agent.tools.mcp_transports")
        last_reason, pause = "", MIN_RETRY_PAUSE_SECONDS
        while True:
            sessions = self._session_count
            try:
                await self._hold_session()
            except Exception as error:  # noqa: BLE001  (foreign programs and two libraries may raise anything; the loop tries again)
                if (task := asyncio.current_task()) and task.cancelling():
                    # The library replaced our cancellation with its own error.
                    return
                was_open, reason = self._session_count > sessions, _describe_break(error)
                if was_open:
                    last_reason, pause = "", MIN_RETRY_PAUSE_SECONDS
                else:
                    pause = min(2 * pause, MAX_RETRY_PAUSE_SECONDS)
                if reason != last_reason:
                    problem = "broke off" if was_open else "is not there"
                    _log.warning("the MCP server %s %s: %s", self.server.name, problem, reason)
                last_reason = reason
            await asyncio.sleep(pause)

    async def _hold_session(self) -> None:
        """Open a session and stay in it. It ends only by an error."""
        from mcp import ClientSession  # noqa: PLC0415  (see above)

        async with (
            _open_messages(self.server) as (received, sent),
            ClientSession(received, sent, message_handler=self._handle_message) as session,
        ):
            async with asyncio.timeout(MAX_OPEN_SECONDS):
                await session.initialize()
                found = await _list_tools(session)
            by_name = {tool.name: tool for each in found if (tool := self._adapt_tool(each))}
            self.tools, self._session = list(by_name.values()), session
            self._on_change()
            self._session_count += 1
            self._is_open.set()
            try:
                await self._watch_session(session)
            finally:
                self._session = None
                self._is_open.clear()

    async def _handle_message(self, message: object) -> None:
        """End the open calls soon after an unreadable message, which may be the answer to any of them."""
        if isinstance(message, Exception):
            for call in self._pending_calls:
                asyncio.get_running_loop().call_later(MAX_NOISE_SECONDS, call.cancel)

    async def _watch_session(self, session: "ClientSession") -> None:
        """Raise when the session has died, and never return. An ended program may give no other sign."""
        from mcp import MCPError  # noqa: PLC0415
        from mcp_types import METHOD_NOT_FOUND  # noqa: PLC0415

        pause = PING_INTERVAL_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._needs_check.wait()
            self._needs_check.clear()
            # Many servers do one thing at a time, and may still work on a stopped call.
            busy_seconds = max(self._pending_calls.values(), default=0.0) + MAX_BUSY_SECONDS - monotonic()
            pause = min(busy_seconds, PING_INTERVAL_SECONDS) if busy_seconds > 0 else PING_INTERVAL_SECONDS
            if busy_seconds > 0 and self._is_open.is_set():
                continue
            try:
                async with asyncio.timeout(MAX_PING_SECONDS):
                    await session.send_ping()
            except MCPError as error:
                if error.code != METHOD_NOT_FOUND:
                    raise
            self._is_open.set()

    def _adapt_tool(self, found: "Tool") -> BaseTool | None:
        """Return a server's tool under a unique name, or None if no model can use it."""

        async def call_remote(arguments: dict[str, Any]) -> str:
            return await self._call_tool(found.name, arguments)

        try:
            return adapt_tool(self.server.name, found.name, found.description or "", found.input_schema, call_remote)
        except UnusableSchemaError as error:
            _log.warning("a tool of the MCP server %s is not offered: %s", self.server.name, error)
            return None

    async def _call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_SESSION_WAIT_SECONDS):
                await self._is_open.wait()
        if self._session is None:
            raise ToolException(f"The server {self.server.name} cannot be reached now. Go on without it.")
        # The call gets an empty context, since the library would send the run's trace along.
        call = asyncio.create_task(_request_call(self._session, name, arguments), context=Context())
        self._pending_calls[call] = monotonic()
        call.add_done_callback(self._forget_call)
        is_good = False
        try:
            result = await asyncio.shield(call)
            is_good = True
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():
                # The run was stopped, or the call took too long.
                raise
            raise self._make_break_error(_UNREADABLE) from None
        except Exception as error:  # noqa: BLE001  (as above)
            raise self._explain_failure(error) from None
        finally:
            if not is_good:
                self._needs_check.set()
        text = FENCE.wrap(read_result(result))
        if result.is_error:
            raise ToolException(text)
        return text

    def _forget_call(self, call: "asyncio.Task[CallToolResult]") -> None:
        del self._pending_calls[call]
        if not call.cancelled():
            # No task may wait for it any more.
            call.exception()

    def _explain_failure(self, error: Exception) -> ToolException:
        from mcp import MCPError  # noqa: PLC0415
        from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, PARSE_ERROR  # noqa: PLC0415

        if not isinstance(error, MCPError) or error.code in (PARSE_ERROR, INVALID_REQUEST):
            return self._make_break_error(_UNREADABLE)
        if error.code == CONNECTION_CLOSED:
            # The next call waits for the check.
            self._is_open.clear()
            return self._make_break_error("broke off in the middle of this")
        return ToolException(FENCE.wrap(shorten_for_model(error.message, MAX_REMOTE_RESULT_CHARS)))

    def _make_break_error(self, reason: str) -> ToolException:
        return ToolException(
            f"The server {self.server.name} {reason}: it may have been done or not. Look before you try again."
        )


def _open_messages(server: McpServer) -> "Transport":
    from agent.tools.mcp_transports import open_address, open_program  # noqa: PLC0415  (see above)

    if server.url is not None:
        return open_address(server.url, server.headers)
    return open_program(server.command or "", server.args, server.env)


async def _list_tools(session: "ClientSession") -> "list[Tool]":
    """Return the first tools of a server, and request no more pages than needed."""
    from mcp_types import PaginatedRequestParams  # noqa: PLC0415  (see above)

    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(MAX_SERVER_TOOLS):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        found += page.tools
        cursor = page.next_cursor
        if not cursor or len(found) >= MAX_SERVER_TOOLS:
            break
    return found[:MAX_SERVER_TOOLS]


async def _request_call(session: "ClientSession", name: str, arguments: dict[str, Any]) -> "CallToolResult":
    """Call a tool. The session's own `call_tool` would check unread content against a schema, at any cost."""
    from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult  # noqa: PLC0415  (see above)

    request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=arguments))
    return await session.send_request(request, CallToolResult)


def _describe_break(error: BaseException) -> str:
    """Describe a break in a few words, without the server's text and without an address, which may hold a key."""
    from mcp_types import CONNECTION_CLOSED  # noqa: PLC0415  (see above)

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if getattr(error, "code", None) == CONNECTION_CLOSED:
        return "it closed the connection"
    return f"HTTP {status}" if status else getattr(error, "strerror", None) or type(error).__name__
