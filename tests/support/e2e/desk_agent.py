"""An agent whose place a test takes: it serves kpd's tools on its tree, and proposes what lies there at the end.

Its folder is the iteration's `session/`: the tree, the socket, and an empty file `end` that ends its turn.
"""

import asyncio
from pathlib import Path

from kpd.agents.agent import Agent, AgentKind, Context, Proposal
from kpd.agents.catalogue import AGENTS
from kpd.model.trials import TrialBudget
from kpd.workspace.candidate_tree import read_tree
from kpd.workspace.paths import Workspace

NAME = "desk"
BUDGET = TrialBudget(trials=4, device_s=60.0)
DAEMON = """
import sys
from kpd.cli.main import main
from tests.support.e2e.desk_agent import register
register()
sys.exit(main(["-w", sys.argv[1], "daemon"]))
"""
"""A program for `RealDaemon.start`."""
DYING = """
import asyncio, os, signal, sys
from pathlib import Path
from kpd.daemon.process import serve
from kpd.model.events import Event, TrialStarted
from kpd.workspace.paths import Workspace
from tests.support.e2e.desk_agent import register

def die(message):
    if isinstance(message, Event) and isinstance(message.fact, TrialStarted):
        os.kill(os.getpid(), signal.SIGKILL)

register()
asyncio.run(serve(Workspace(Path(sys.argv[1])), [die]))
"""
"""The same, of a daemon that is killed as soon as a trial has begun."""


class DeskAgent(Agent):
    repairs = True

    async def propose(self, context: Context) -> Proposal:
        folder = context.home / "session"
        tree = folder / "tree"
        if not tree.exists():
            tree.mkdir(parents=True)
            for name, data in context.incumbent.items():
                (tree / name).write_bytes(data)
        async with context.serve(folder, tree, BUDGET, str) as path:
            (folder / "socket").write_text(str(path))
            while not (folder / "end").exists():  # noqa: ASYNC110  # another process makes it
                await asyncio.sleep(0.02)
        return Proposal.of_tree(read_tree(tree, context.task), context.incumbent, "as tried")


def session_folder(workspace: Workspace, run: str = "r1", number: int = 1) -> Path:
    return workspace.iteration_folder("scale", run, number) / "session"


def register() -> None:
    AGENTS.register(NAME, AgentKind(lambda config, argument: DeskAgent()))
