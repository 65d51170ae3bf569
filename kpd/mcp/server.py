"""Serves kpd's tools over the Model Context Protocol on stdin and stdout. The only module that imports the SDK.

It has no tools of its own: `ask` lists and calls those of a session or of a daemon.
"""

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

from kpd import __version__
from kpd.wire import DaemonError

Ask = Callable[[str, dict[str, Any]], Any]
"""A function that asks a question by name and returns JSON values. It may block, and raises DaemonError."""
INSTRUCTIONS = (
    "Tools of kpd, which optimises compute kernels. Begin with `inspect` and `findings`. `try` measures your tree as a "
    "trial: it decides nothing. Only kpd's own measurement says how fast a kernel is."
)


async def serve(ask: Ask) -> None:
    """Serve until stdin ends."""
    server: Server[Any] = Server(
        "kpd", version=__version__, instructions=INSTRUCTIONS, on_list_tools=_listing(ask), on_call_tool=_calling(ask)
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _listing(ask: Ask) -> Callable[[Any, Any], Any]:
    async def listed(context: Any, params: Any) -> ListToolsResult:
        found = await _answer(ask, "tools", {})
        return ListToolsResult(tools=[_tool(one) for one in found])

    return listed


def _tool(found: dict[str, Any]) -> Tool:
    hints = ToolAnnotations(read_only_hint=found["read_only"], destructive_hint=False, open_world_hint=False)
    return Tool(name=found["name"], description=found["description"], input_schema=found["schema"], annotations=hints)


def _calling(ask: Ask) -> Callable[[Any, CallToolRequestParams], Any]:
    async def called(context: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            found = await _answer(ask, "tool", {"name": params.name, "args": params.arguments or {}})
        except DaemonError as err:
            data = {"error": {"code": err.code, "message": err.message, "remedy": err.remedy}}
            return CallToolResult(content=[TextContent(text=str(err))], structured_content=data, is_error=True)
        data = {name: value for name, value in found.items() if name != "text"}
        texts = (str(found.get("text", "")), json.dumps(data, ensure_ascii=False))
        return CallToolResult(content=[TextContent(text=one) for one in texts if one], structured_content=data)

    return called


async def _answer(ask: Ask, what: str, args: dict[str, Any]) -> Any:
    """Ask in a thread that does not keep this process alive: a client may leave while a trial waits for its device."""
    answer: Future[Any] = Future()
    answer.set_running_or_notify_cancel()

    def work() -> None:
        try:
            answer.set_result(ask(what, args))
        except Exception as err:  # noqa: BLE001  # whoever waits for the answer gets it
            answer.set_exception(err)

    threading.Thread(target=work, daemon=True).start()
    return await asyncio.wrap_future(answer)
