"""The UI on a real daemon whose agents are a scripted model service and a mailbox, in turn."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from kpd.subscription import Client
from kpd.workspace.config import TuiConfig
from kpd.workspace.paths import Workspace
from tests.support.claude.anthropic_script import Broken
from tests.support.claude.model_service import beside
from tests.support.daemon.real_daemon import PATIENCE_S, RealDaemon, daemon, workspace
from tests.support.tui.drawn import screen
from tui.app import KpdApp
from tui.model.feed import Feed

__all__ = ["daemon", "workspace"]

WORDS = "MEMO: [call_in_loop] \x1b[31monce\x1b[0m is [bold]enough[/bold]\nEXPECT: ipc up, gain 80 %\n"


async def test_a_models_words_and_a_mailboxs_path_reach_the_operator(daemon: RealDaemon, workspace: Workspace) -> None:
    async def connect() -> Feed:
        client = Client(workspace.socket, "tui")
        await client.connect()
        return client

    app = KpdApp(connect, "kernels", TuiConfig(refresh_hz=50.0))
    with beside(workspace, lambda asked: Broken("stall", WORDS, after=8, chunk=12)):
        await asyncio.to_thread(daemon.start)
        async with app.run_test(size=(120, 36)) as pilot:
            await asyncio.to_thread(daemon.command, "run", task="scale", agent="claude,mailbox", iterations=2)
            await pilot.press("6")
            await until(pilot, lambda: "agent │ MEMO: [call_in_loop] once is [bold]enough[/bold]" in screen(app))
            assert "\x1b" not in screen(app)
            await pilot.press("1")
            await until(pilot, lambda: "screen, once claude has proposed; 6 shows it live" in screen(app))
            await pilot.press("x", "y")
            await until(pilot, lambda: "for reply.md, the answer to prompt.md beside it" in screen(app))
            await until(pilot, lambda: "Cost so far  ~$0.0" in screen(app))
            await pilot.press("Y")
            reply = Path(app.clipboard)
            assert reply == workspace.iteration_folder("scale", "r1", 2) / "reply.md"
            assert (reply.parent / "prompt.md").exists()
            shown = "".join(line.split("▕", 1)[-1].strip() for line in screen(app).splitlines())
            assert str(reply) in shown, "the whole path stands on the screen"


async def until(pilot: Pilot[int], seen: Callable[[], bool]) -> None:
    for _ in range(int(PATIENCE_S / 0.05)):
        if seen():
            return
        await pilot.pause(0.05)
    raise AssertionError(screen(pilot.app))
