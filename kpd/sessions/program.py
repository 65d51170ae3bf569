"""Says how an agent's program is started, what its sandbox opens to it, and where it may act without asking."""

import glob
import os
import shutil
import sys
from pathlib import Path

import kpd
from kpd.hosts.keeper import Order
from kpd.sessions.folder import SessionFolder
from kpd.sessions.network import Reach
from kpd.sessions.permissions import Place
from kpd.sessions.place import installed
from kpd.sessions.terms import COMMANDS, argv
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.paths import Workspace
from kpd.workspace.task import Task
from kpd.workspace.task_copy import shown

READS = (
    "/etc/ssl", "/etc/pki", "/etc/ca-certificates*", "/etc/resolv.conf", "/etc/hosts", "/etc/gai.conf",
    "/etc/os-release", "/run/systemd/resolve",
)  # fmt: skip
"""What a program needs beside the system's folders to find and trust a service."""
SOCKET = "KPD_SESSION"
"""The environment variable by which `kpd mcp` finds the socket of its session."""


def order(
    settings: AgentConfig, folder: SessionFolder, workspace: Workspace, keys: dict[str, str], socket: Path | None,
    reach: Reach | None = None,
) -> Order:  # fmt: skip
    """Return how the agent is started, with kpd's tools on `socket` if any; without a `reach` it shares the network."""
    program = shutil.which(argv(settings)[0]) or argv(settings)[0]
    env = {
        "PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder.state), "TMPDIR": str(folder.scratch),
        "LANG": "C.UTF-8", "TERM": "dumb", "USER": os.environ.get("USER", "kpd"),
        **({} if socket is None else {SOCKET: str(socket)}),
        **(reach.env if reach is not None else {}), **settings.env, **keys,
    }  # fmt: skip
    own = (str(Path(kpd.__file__).parent.parent), sys.prefix, sys.base_prefix)  # of `kpd mcp`
    beside = (
        () if socket is None or folder.root in socket.parents else (str(socket),)
    )  # where the folder's path is too long for it
    opened = (str(folder.root), *beside, *installed(Path(program), workspace.root), *own)
    reads = (*map(glob.escape, opened), *READS, *settings.reads)
    writes = tuple(glob.escape(str(path)) for path in (folder.tree, folder.state, folder.scratch, folder.tool))
    ports = reach.ports if reach is not None else None
    return Order((program, *argv(settings)[1:]), str(folder.tree), env, reads, writes, settings.confined, ports)


def place(settings: AgentConfig, folder: SessionFolder, task: Task | None, servers: tuple[str, ...]) -> Place:
    """Return where the agent may act without asking anybody; `servers` are the built tools of its session."""
    tree = folder.tree.resolve()
    writes = (tree, folder.scratch.resolve(), folder.state.resolve(), folder.tool.resolve())
    reads = (folder.root.resolve(), Path("/usr"), Path("/opt"), *map(Path, settings.reads))
    return Place(tree, writes, reads, () if task is None else shown(task), (*COMMANDS, *settings.commands), servers)
