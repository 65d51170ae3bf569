"""Real edits in a real folder: each is told once, kpd's own folders are not watched, nothing makes it go blind."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kpd.daemon import watcher as watcher_module
from kpd.daemon.watcher import Watcher
from kpd.workspace.paths import Workspace
from kpd.workspace.runfolder import write_atomic

PATIENCE_S = 20.0


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


async def test_a_save_is_told_once(watched: Watched) -> None:
    watched.kernel.write_text("after")
    assert await watched.edit() == [{"tasks/scale/kernel.c"}]


async def test_a_half_written_save_and_its_other_half_are_one_edit(watched: Watched) -> None:
    with watched.kernel.open("w") as file:
        for half in ("int main", "(void);"):
            file.write(half)
            file.flush()
            await asyncio.sleep(0.1)
    assert await watched.edit() == [{"tasks/scale/kernel.c"}]


async def test_an_atomic_rename_is_one_edit_and_the_next_one_is_seen_too(watched: Watched) -> None:
    for text in ("one", "two"):
        write_atomic(watched.kernel, text)
        assert await watched.edit() == [{"tasks/scale/kernel.c"}]


async def test_config_replaced_by_a_rename_is_seen_each_time(watched: Watched) -> None:
    for text in ("[run]\n", "[tui]\n"):
        write_atomic(watched.workspace.config, text)
        assert await watched.edit() == [{"config.toml"}]


async def test_vim_s_dance_is_one_edit(watched: Watched) -> None:
    folder, kernel = watched.kernel.parent, watched.kernel
    (folder / ".kernel.c.swp").write_text("swap")
    (folder / "4913").write_text("")
    (folder / "4913").unlink()
    kernel.rename(folder / "kernel.c~")
    kernel.write_text("saved by vim")
    (folder / "kernel.c~").unlink()
    (folder / ".kernel.c.swp").unlink()
    assert await watched.edit() == [{"tasks/scale/kernel.c"}]


async def test_what_editors_and_tools_leave_beside_is_no_edit(watched: Watched) -> None:
    folder = watched.kernel.parent
    for name in (".kernel.c.swp", "kernel.c~", "4913", ".#kernel.c", "#kernel.c#", ".DS_Store", "kernel.swx", "x.tmp"):
        (folder / name).write_text("x")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "harness.pyc").write_text("x")
    assert await watched.edit() == []


async def test_what_kpd_writes_elsewhere_is_not_told(watched: Watched) -> None:
    root = watched.workspace.root
    (root / "runs" / "scale" / "r1" / "iter_0001").mkdir()
    (root / "runs" / "scale" / "r1" / "iter_0001" / "memo.md").write_text("x")
    for name in (".kpd/events.db", ".git/index", "runs/x", "README.md"):
        (root / name).write_text("x")
    assert await watched.edit() == []


async def test_several_files_saved_together_are_one_edit(watched: Watched) -> None:
    watched.kernel.write_text("after")
    (watched.kernel.parent / "build.json").write_text("{}")
    watched.workspace.config.write_text("[run]\n")
    (watched.workspace.memory / "scale.md").write_text("x")
    assert await watched.edit() == [
        {"tasks/scale/kernel.c", "tasks/scale/build.json", "config.toml", "memory/scale.md"}
    ]


async def test_a_new_task_is_told_with_all_its_files(watched: Watched, tmp_path: Path) -> None:
    made = tmp_path / "new"
    (made / "src").mkdir(parents=True)
    for name in ("task.toml", "src/kernel.c", ".hidden"):
        (made / name).write_text("x")
    made.rename(watched.workspace.tasks / "new")
    (change,) = await watched.edit()
    assert change == {"tasks/new", "tasks/new/task.toml", "tasks/new/src/kernel.c"}
    (watched.workspace.tasks / "new" / "src" / "kernel.c").write_text("y")
    assert await watched.edit() == [{"tasks/new/src/kernel.c"}]


async def test_a_task_that_is_removed_is_told(watched: Watched) -> None:
    shutil.rmtree(watched.kernel.parent)
    (change,) = await watched.edit()
    assert {"tasks/scale", "tasks/scale/kernel.c"} <= change


async def test_a_burst_that_does_not_end_is_told_nevertheless(watched: Watched) -> None:
    async def scribble() -> None:
        for n in range(10_000):
            watched.kernel.write_text(str(n))
            await asyncio.sleep(0.05)

    scribbling = asyncio.create_task(scribble())
    assert await asyncio.wait_for(watched.told.get(), PATIENCE_S) == {watched.kernel}
    assert not scribbling.done()
    scribbling.cancel()


async def test_a_listener_that_fails_is_told_again_next_time(watched: Watched) -> None:
    failed = asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: failed.set())
    watched.watcher._on_change = lambda _paths: 1 / 0  # type: ignore[assignment,return-value]
    watched.kernel.write_text("one")
    await asyncio.wait_for(failed.wait(), PATIENCE_S)
    watched.watcher._on_change = watched.told.put_nowait
    watched.kernel.write_text("two")
    assert await watched.edit() == [{"tasks/scale/kernel.c"}]


async def test_a_workspace_that_vanishes_is_reported_once(watched: Watched) -> None:
    shutil.rmtree(watched.workspace.root)
    assert "is gone" in await asyncio.wait_for(watched.lost.get(), PATIENCE_S)
    await asyncio.sleep(0.5)
    assert watched.lost.empty()


async def test_a_workspace_that_is_not_there_is_reported(tmp_path: Path) -> None:
    absent = Watched(tmp_path / "absent")
    async with absent.watcher:
        assert "cannot watch" in await asyncio.wait_for(absent.lost.get(), PATIENCE_S)
