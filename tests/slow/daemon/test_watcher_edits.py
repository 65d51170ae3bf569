"""Real edits in a real folder: each is told once, kpd's own folders are not watched, nothing makes it go blind."""

import asyncio
import os
import shutil
from pathlib import Path

from tests.support.daemon.watched import PATIENCE_S, Watched, watched

__all__ = ["watched"]


async def test_a_folder_removed_and_made_again_is_watched_again(watched: Watched) -> None:
    shutil.rmtree(watched.workspace.tasks)
    (change,) = await watched.edit()
    assert "tasks" in change
    watched.kernel.parent.mkdir(parents=True)
    watched.kernel.write_text("again")
    (change,) = await watched.edit()
    assert {"tasks", "tasks/scale/kernel.c"} <= change
    watched.kernel.write_text("and again")
    assert await watched.edit() == [{"tasks/scale/kernel.c"}]


async def test_a_folder_swapped_in_one_go_is_watched(watched: Watched) -> None:
    root = watched.workspace.root
    (root / "other" / "scale").mkdir(parents=True)
    (root / "other" / "scale" / "kernel.c").write_text("other")
    watched.workspace.tasks.rename(root / "old")
    (root / "other").rename(watched.workspace.tasks)
    (change,) = await watched.edit()
    assert {"tasks", "tasks/scale/kernel.c"} <= change
    (root / "old" / "scale" / "kernel.c").write_text("out of sight")
    watched.kernel.write_text("in sight")
    assert await watched.edit() == [{"tasks/scale/kernel.c"}]


async def test_a_workspace_without_its_folders_is_watched(tmp_path: Path) -> None:
    bare = Watched(tmp_path)
    async with bare.watcher:
        async with asyncio.timeout(PATIENCE_S):
            while not await bare._within(0.5):
                bare.workspace.config.write_text(os.urandom(4).hex())
            bare.kernel.parent.mkdir(parents=True)
            bare.kernel.write_text("x")
            while bare.kernel not in await bare.told.get():
                continue
