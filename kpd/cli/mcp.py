"""kpd mcp: serves kpd's tools to an agent's client, over the Model Context Protocol on stdin and stdout."""

import asyncio
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from kpd.cli.ask import command, query, workspace
from kpd.cli.exit_codes import OK, USAGE, CliError
from kpd.client import DaemonError, NoDaemon, ask

SESSION = "KPD_SESSION"
"""The environment variable with the path of a session's socket. kpd sets it for the agents that it starts."""
NOTE = "note"
"""The tool that is an operation of the daemon, and not one of its questions."""
LONGEST_S = 3600.0
"""The longest that an answer may take: a trial waits for its turn on the device."""


def arguments(parser: ArgumentParser) -> None:
    parser.epilog = "claude mcp add kpd -- kpd mcp"


def execute(args: Namespace) -> int:
    try:
        from kpd.mcp.server import serve
    except ModuleNotFoundError as err:
        raise CliError(f"kpd mcp needs the package {err.name}", "pip install 'kpd[agents]'", USAGE) from err
    if session := os.environ.get(SESSION):
        path = Path(session)

        def asked(what: str, given: dict[str, Any]) -> Any:
            try:
                return ask(path, "query", what, given, client="mcp", timeout=LONGEST_S)
            except NoDaemon as err:
                raise DaemonError("refused", "this session of kpd is over, or its daemon ended", "try again") from err
    else:
        ws = workspace(args)

        def asked(what: str, given: dict[str, Any]) -> Any:
            if what == "tool" and given["name"] == NOTE:
                noted = command(ws, NOTE, **given["args"])
                return {"text": f"kept in the log of {noted['run']}"}
            return query(ws, what, **given)

    asyncio.run(serve(asked))
    return OK
