"""A watcher on files that a test edits."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kpd.daemon import watcher as watcher_module
from kpd.daemon.watcher import Watcher
from kpd.workspace.paths import Workspace
from tests.support.patience import PATIENCE_S


class Watched:
    """A workspace under watch."""

    def __init__(self, folder: Path) -> None:
        root = folder.resolve()
        self.workspace = Workspace(root)
        self.told: asyncio.Queue[frozenset[Path]] = asyncio.Queue()
        self.lost: asyncio.Queue[str] = asyncio.Queue()
        self.watcher = Watcher(self.workspace, self.told.put_nowait, self.lost.put_nowait)
        self.kernel = root / "tasks" / "scale" / "kernel.c"
        self._marks = 0

    async def ready(self) -> None:
        """Wait until both watches have shown that they work, and what they have seen is told."""
        await asyncio.sleep(0.05)  # most often enough; if not, marks are made until both are seen
        missing = {self.workspace.config, self.workspace.skills / "mark.md"}
        async with asyncio.timeout(PATIENCE_S):
            while missing:
                for mark in missing:
                    self._mark(mark)
                missing -= await self._within(0.6)

    async def edit(self) -> list[set[str]]:
        """What is told of an edit, one set of paths for each call, and nothing if a mark made after it comes alone."""
        first = await self._within(0.6)
        mark = self.workspace.skills / "mark.md"
        changes = [first]
        async with asyncio.timeout(PATIENCE_S):
            while mark not in changes[-1]:
                changes.append(await self._within(0.6, self._mark(mark)))
        names = [{str(path.relative_to(self.workspace.root)) for path in told - {mark}} for told in changes]
        return [told for told in names if told]

    def _mark(self, path: Path) -> None:
        self._marks += 1
        path.write_text(str(self._marks))

    async def _within(self, seconds: float, _marked: None = None) -> frozenset[Path]:
        try:
            return await asyncio.wait_for(self.told.get(), seconds)
        except TimeoutError:
            return frozenset()


@pytest.fixture
async def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watched]:
    monkeypatch.setattr(watcher_module, "STEP_MS", 25)
    monkeypatch.setattr(watcher_module, "QUIET_S", 0.25)
    monkeypatch.setattr(watcher_module, "LONGEST_S", 1.0)
    root = (tmp_path / "workspace").resolve()
    for folder in ("tasks/scale", "skills", "memory", "runs/scale/r1", ".kpd", ".git"):
        (root / folder).mkdir(parents=True)
    found = Watched(root)
    found.kernel.write_text("before")
    async with found.watcher:
        await found.ready()
        yield found
