"""Gives a session the tools that agents have built: servers, which the agent starts, and skills as files."""

import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kpd.model.toolbox import ToolVersion
from kpd.model.tools import active, still_active
from kpd.sessions.folder import SessionFolder
from kpd.tools.files import BadTool, kept, lay, read_tool, version_of
from kpd.tools.manifest import command, read_manifest
from kpd.workspace.paths import Workspace

OWN_SERVER = (sys.executable, "-P", "-m", "kpd.cli.main", "mcp")
"""The server of kpd's tools, which the agent starts in its own sandbox."""


@dataclass(frozen=True, slots=True)
class ToolServer:
    """A server that the agent is to start in its session: the name of the tool, and the command."""

    name: str
    command: tuple[str, ...]


def give(
    folder: SessionFolder, workspace: Workspace, tools: Mapping[str, ToolVersion], task: str, servers_too: bool
) -> tuple[str, ...]:
    """Copy the active tools of a task into a new session, and return their versions.

    An agent that starts no servers gets the tools with a skill. A version whose files are not what was checked is left
    out. Raises OSError.
    """
    found = []
    for one in active(tools, task):
        if not (servers_too or one.skill):
            continue
        try:
            files = kept(workspace, one)
        except BadTool:
            continue
        lay(folder.tools / one.tool, files)
        found.append(one.ref)
    return tuple(found)


def servers(folder: SessionFolder, given: Iterable[str], tools: Mapping[str, ToolVersion]) -> tuple[ToolServer, ...]:
    """Return the servers for a turn of a session that was `given` these versions.

    A version that is not qualified any more is removed from the session's folder, and so is one that is not what was
    given. Raises OSError.
    """
    found, still = [], {one.ref: one for one in still_active(given, tools)}
    for ref in given:
        name = ref.partition("@")[0]
        try:
            files = read_tool(folder.tools / name)
            if ref not in still or version_of(files) != still[ref].version:
                raise BadTool(f"{ref} is not to be used")
            if server := read_manifest(files).server:
                found.append(ToolServer(name, command(server, folder.tools / name, files)))
        except (BadTool, FileNotFoundError):
            shutil.rmtree(folder.tools / name, ignore_errors=True)
    return tuple(found)
