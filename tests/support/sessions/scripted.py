"""Puts the scripted coding agent into a workspace's config.toml."""

import json
import sys
from pathlib import Path
from typing import Any

from kpd.workspace.paths import Workspace
from tests.support.e2e.replies import KERNEL

PROGRAM = Path(__file__).with_name("scripted_agent.py")


def kernel(repeat: object) -> str:
    return KERNEL.format(repeat=repeat)


def agent(
    workspace: Workspace, *turns: list[list[Any]], settings: str = "", name: str = "mine", **options: Any
) -> None:
    """Add an agent, which does `turns` in order; `options` are those of its script."""
    script = workspace.root.parent / "script.json"
    script.write_text(json.dumps({"turns": turns, **options}))
    command = json.dumps([sys.executable, str(PROGRAM), str(script)])
    reads = json.dumps([str(PROGRAM.parent), str(script), sys.prefix, sys.base_prefix])
    table = f"\n[agents.mine]\ncommand = {command}\nreads = {reads}\n{settings}\n"
    config = workspace.root / "config.toml"
    config.write_text(config.read_text() + table)
