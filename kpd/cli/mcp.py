"""kpd mcp: serves kpd's tools to an agent's client, over the Model Context Protocol on stdin and stdout."""

import asyncio
import os
from argparse import REMAINDER, SUPPRESS, ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from kpd.cli.ask import command, query, workspace
from kpd.cli.exit_codes import OK, USAGE, CliError
from kpd.client import DaemonError, NoDaemon, ask
from kpd.workspace.extras import install

SESSION = "KPD_SESSION"
"""The environment variable with the path of a session's socket. kpd sets it for the agents that it starts."""
NOTE = "note"
"""The tool that is an operation of the daemon, and not one of its questions."""
GIVEN = ("PATH", "HOME", "TMPDIR", "LANG", "KPD_JOB")
"""The variables that the server of a built tool gets; by the last one kpd knows the session's processes."""
LONGEST_S = 3600.0
"""The longest that an answer may take: a trial waits for its turn on the device."""


def arguments(parser: ArgumentParser) -> None:
    parser.epilog = "claude mcp add kpd -- kpd mcp"
    parser.add_argument("--tool", help=SUPPRESS)  # for sessions: the server of a built tool, whose command follows
    parser.add_argument("command", nargs=REMAINDER, help=SUPPRESS)


def execute(args: Namespace) -> int:
    if args.tool:
        return _relayed(args.tool, args.command[1:] if args.command[:1] == ["--"] else args.command)
    try:
        from kpd.mcp.server import serve
    except ModuleNotFoundError as err:
        raise CliError(f"kpd mcp needs the package {err.name}", install("agents"), USAGE) from err
    if SESSION in os.environ:
        asked = _of_session
    else:
        ws = workspace(args)

        def asked(what: str, given: dict[str, Any]) -> Any:
            if what == "tool" and given["name"] == NOTE:
                noted = command(ws, NOTE, **given["args"])
                return {"text": f"kept in the log of {noted['run']}"}
            return query(ws, what, **given)

    asyncio.run(serve(asked))
    return OK


def _of_session(what: str, given: dict[str, Any]) -> Any:
    """Ask the session whose agent has started this process. Raises DaemonError."""
    try:
        return ask(Path(os.environ[SESSION]), "query", what, given, client="mcp", timeout=LONGEST_S)
    except NoDaemon as err:
        raise DaemonError("refused", "this session of kpd is over, or its daemon ended", "try again") from err


def _relayed(tool: str, command: list[str]) -> int:
    """Start the server of a built tool, and tell the session what is called there."""
    from kpd.mcp.relay import relay

    if not command or SESSION not in os.environ:
        raise CliError("--tool is for sessions, with the command of a server", "kpd tools qualify TOOL", USAGE)
    env = {name: os.environ[name] for name in GIVEN if name in os.environ}
    return relay(command, env, lambda found: _of_session("called", {"server": tool, **found}))
