"""The scripted model service in a thread of its own, for tests whose daemon is a process."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kpd.workspace.paths import Workspace
from tests.support.claude.anthropic_server import Script, Server, serving
from tests.support.patience import PATIENCE_S

KEY = "secret-that-must-not-leak"
"""What real_daemon gives its daemons as the key."""


@contextmanager
def beside(workspace: Workspace, script: Script, settings: str = "") -> Iterator[Server]:
    """The service, and a config of `workspace` that leads to it; `settings` are more lines of [claude]."""
    loop = asyncio.new_event_loop()
    found: list[Server] = []
    up, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with serving(script, KEY) as server:
            found.append(server)
            up.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert up.wait(PATIENCE_S)
    before = workspace.config.read_text()
    workspace.config.write_text(f'{before}\n[claude]\nbase_url = "{found[0].url}"\n{settings}')
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(20)
        loop.close()
