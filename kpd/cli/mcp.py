"""kpd mcp: serves kpd's tools to an agent's client, over the Model Context Protocol on stdin and stdout."""

import asyncio
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import OK, USAGE, CliError
from kpd.client import ask

SESSION = "KPD_SESSION"
"""The environment variable with the path of a session's socket. kpd sets it for the agents that it starts."""
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
            return ask(path, "query", what, given, client="mcp", timeout=LONGEST_S)
    else:
        ws = workspace(args)

        def asked(what: str, given: dict[str, Any]) -> Any:
            return query(ws, what, **given)

    asyncio.run(serve(asked))
    return OK
