"""Agents that cannot be had: said when a run is queued, and when its agents are changed."""

from collections.abc import Mapping
from pathlib import Path

from kpd.agents import catalogue, recorded
from kpd.agents.script import PREFIX
from kpd.operations.operation import Refused
from kpd.workspace.config import RECORDED, HostConfig
from kpd.workspace.paths import Workspace


def refuse_agents(names: str, workspace: Workspace, host: str, hosts: Mapping[str, HostConfig]) -> None:
    """Raises Refused where there is no such agent, or nothing that it could propose, or these take no turns together.

    `host` is one of `hosts`, or any of them.
    """
    if reason := catalogue.refusal(names):
        choices = ", ".join(catalogue.CHOICES.values())
        raise Refused(reason, f"agents: {choices}; several take turns, as in claude,sweep")
    for name in names.split(","):
        if name.startswith(PREFIX) and not _is_folder(folder := workspace.root / name.removeprefix(PREFIX)):
            raise Refused(f"{folder} is no folder", "name one that holds a folder for each candidate")
    may_be = [hosts[host]] if host in hosts else hosts.values()
    if names == recorded.NAME and not any(one.transport == RECORDED for one in may_be):
        raise Refused(f"host {host!r} plays no recording", "name a recorded host with --host")


def _is_folder(path: Path) -> bool:
    """Also False where that cannot be found out: a name that is too long, or a parent that may not be read."""
    try:
        return path.is_dir()
    except OSError:
        return False
