"""Tools of other programs, spoken to in the Model Context Protocol: the only file that knows it.

One session is kept open for each server, by a task of its own: many servers hold a state between calls, such as a
browser's page. A session that died is opened anew, and a call that it took with it is not made again: nobody knows how
far it came. The libraries are only imported where a server is configured; they take more than a second.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from agent.tools.fence import Fence
from checkpoints.text import shorten_for_model

if TYPE_CHECKING:
    from langchain_mcp_adapters.sessions import Connection
    from mcp import ClientSession
    from mcp.types import CallToolResult, ContentBlock

MAX_OPEN_SECONDS = 30.0  # a program may have to be fetched first
MAX_SESSION_WAIT_SECONDS = 10.0  # that a call waits for a session
PING_INTERVAL_SECONDS = 30.0
MAX_PING_SECONDS = 5.0
MAX_BUSY_SECONDS = 55.0  # in which a server may be busy with a call that was stopped; less than the deadline of tools
MIN_RETRY_PAUSE_SECONDS, MAX_RETRY_PAUSE_SECONDS = 0.5, 60.0  # before it is tried again
MAX_SERVER_TOOLS = 64  # of one server
MAX_TOOLS = 120  # ours and theirs: providers take 128, and those of a run itself come to them (fork, goto …)
MAX_REMOTE_RESULT_CHARS = 40_000  # of a result
MAX_TOOL_DESCRIPTION_CHARS = 2_000
FENCE = Fence("result of another program")
_CONNECTION_CODES = (-32000, 32600)  # codes that the library makes up where the connection, or the session, is gone
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server of tools: a `command` to start, or a `url`. With `approval`, its tools ask a person before they run."""

    name: str
    command: str | None = None
    args: Sequence[str] = ()
    env: dict[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)  # as above
    approval: bool = True


class McpServers:
    """The tools of all servers, put behind those that stand in `tools` already, and into `approval` by their names.

    Both are the graph's own: a server is there when it is there, and no start waits for it.
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
        """End the sessions, and the programs with them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _publish_tools(self) -> None:
        for each in self._connections:  # before the tools: none may be there for a moment without being asked about
            self._approval.update(tool.name for tool in each.tools if each.server.approval)
        # Names of two servers can meet: `b__c` of `a`, `c` of `a__b`. One too many or twice, and every request is refused.
        by_name = {tool.name: tool for tool in self._tools[: self._own_count]}
        for tool in (tool for each in self._connections for tool in each.tools):
            by_name.setdefault(tool.name, tool)
        if (left_out := len(by_name) - MAX_TOOLS) > 0:
            _log.warning("%s of the MCP servers' tools are not offered: there are more than %s", left_out, MAX_TOOLS)
        self._tools[self._own_count :] = list(by_name.values())[self._own_count : MAX_TOOLS]


class _ServerConnection:
    """One server: the session that is open now, if any, and the tools that it offered last."""

    def __init__(self, server: McpServer, on_change: Callable[[], None]) -> None:
        self.server = server
        self.tools: list[BaseTool] = []
        self._on_change = on_change
        self._session: ClientSession | None = None
        self._session_count = 0  # so far
        self._is_open = asyncio.Event()
        self._needs_check = asyncio.Event()  # a call failed: is the session still good?
        self._pending_calls: dict[asyncio.Task[CallToolResult], float] = {}  # that have no answer yet, and when they began

    async def keep_open(self) -> None:
        """Hold a session open as long as the app lives."""
        await asyncio.to_thread(import_module, "langchain_mcp_adapters.tools")
        told, pause = "", MIN_RETRY_PAUSE_SECONDS
        while True:
            sessions = self._session_count
            try:
                await self._hold_session()
            except Exception as error:  # noqa: BLE001  (foreign programs and two libraries: whatever it is, try again)
                if (task := asyncio.current_task()) and task.cancelling():
                    return  # the library put an error of its own in the place of our wish to end
                was_open, reason = self._session_count > sessions, _describe_break(error)
                told, pause = ("", MIN_RETRY_PAUSE_SECONDS) if was_open else (told, min(2 * pause, MAX_RETRY_PAUSE_SECONDS))
                if reason != told:
                    what = "broke off" if was_open else "is not there"
                    _log.warning("the MCP server %s %s: %s", self.server.name, what, reason)
                told = reason
            await asyncio.sleep(pause)

    async def _hold_session(self) -> None:
        """Open a session and stay in it. It ends only by an error."""
        from langchain_mcp_adapters.sessions import create_session  # noqa: PLC0415  (see above)
        from langchain_mcp_adapters.tools import load_mcp_tools  # noqa: PLC0415

        async with create_session(_build_connection(self.server)) as session:
            async with asyncio.timeout(MAX_OPEN_SECONDS):
                await session.initialize()
                found = await load_mcp_tools(session)
            by_name = {tool.name: tool for each in found[:MAX_SERVER_TOOLS] if (tool := self._adapt_tool(each))}
            self.tools, self._session = list(by_name.values()), session
            self._on_change()
            self._session_count += 1
            self._is_open.set()
            try:
                await self._watch_session(session)
            finally:
                self._session = None
                self._is_open.clear()
                for call in self._pending_calls:  # nobody would ever answer them
                    call.cancel()

    async def _watch_session(self, session: "ClientSession") -> None:
        """Return never, and raise when the session died: a program that ended may leave no other sign."""
        from mcp import McpError  # noqa: PLC0415
        from mcp.types import METHOD_NOT_FOUND  # noqa: PLC0415

        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(PING_INTERVAL_SECONDS):
                    await self._needs_check.wait()
            self._needs_check.clear()
            # Many servers do one thing at a time, and may be busy with it: also when nobody waits for its answer any more.
            if any(monotonic() - began < MAX_BUSY_SECONDS for began in self._pending_calls.values()):
                continue
            try:
                async with asyncio.timeout(MAX_PING_SECONDS):
                    await session.send_ping()
            except McpError as error:
                if error.error.code != METHOD_NOT_FOUND:
                    raise

    def _adapt_tool(self, remote_tool: BaseTool) -> BaseTool:
        """A tool of theirs as ours: under a name that cannot be another's, and with a result that is plain text."""

        async def call_remote(**arguments: Any) -> str:
            return await self._call_tool(remote_tool.name, arguments)

        return StructuredTool(
            name=re.sub(r"[^A-Za-z0-9_-]", "_", f"{self.server.name}__{remote_tool.name}")[:64],  # what providers take
            description=remote_tool.description[:MAX_TOOL_DESCRIPTION_CHARS],
            args_schema=remote_tool.args_schema or {},
            coroutine=call_remote,
        )

    async def _call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_SESSION_WAIT_SECONDS):
                await self._is_open.wait()
        if self._session is None:
            raise ToolException(f"The server {self.server.name} cannot be reached now. Go on without it.")
        call = asyncio.create_task(self._session.call_tool(name, arguments))
        self._pending_calls[call] = monotonic()
        call.add_done_callback(self._forget_call)
        is_good = False
        try:
            result = await asyncio.shield(call)
            is_good = True
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():
                raise  # it is the run that is stopped, or the call that took too long
            raise self._make_break_error() from None
        except Exception as error:  # noqa: BLE001  (as above)
            told = getattr(error, "error", None)  # of a refusal in the protocol's own form
            if told is not None and told.code not in _CONNECTION_CODES:
                raise ToolException(_fence_remote_result(str(told.message))) from None
            raise self._make_break_error() from None
        finally:
            if not is_good:
                self._needs_check.set()
        text = _fence_remote_result("\n".join(map(_read_content_block, result.content)) or "(nothing)")
        if result.isError:
            raise ToolException(text)
        return text

    def _forget_call(self, call: "asyncio.Task[CallToolResult]") -> None:
        del self._pending_calls[call]
        if not call.cancelled():
            call.exception()  # looked at: nobody may be waiting for it any more

    def _make_break_error(self) -> ToolException:
        return ToolException(
            f"The server {self.server.name} broke off in the middle of this: it may have been done or not. "
            "Look before you try again."
        )


def _build_connection(server: McpServer) -> "Connection":
    if server.url is not None:
        return {"transport": "streamable_http", "url": server.url, "headers": server.headers}
    return {"transport": "stdio", "command": server.command or "", "args": list(server.args), "env": server.env}


def _describe_break(error: BaseException) -> str:
    """A few words that hold no text of the server's, and no address: a key may stand in one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if getattr(getattr(error, "error", None), "code", None) in _CONNECTION_CODES:
        return "it closed the connection"
    return f"HTTP {status}" if status else getattr(error, "strerror", None) or type(error).__name__


def _fence_remote_result(text: str) -> str:
    return FENCE.wrap(shorten_for_model(text, MAX_REMOTE_RESULT_CHARS))


def _read_content_block(block: "ContentBlock") -> str:
    """What of a result is text; of anything else, that it was there."""
    if block.type == "text":
        return block.text
    if block.type == "resource" and (text := getattr(block.resource, "text", None)) is not None:
        return str(text)
    if block.type == "resource_link":
        return f"(a link to {block.uri})"
    return f"(content of the kind {block.type}, which cannot be shown here)"
