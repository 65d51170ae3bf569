"""Real edits in a real folder: each is told once, kpd's own folders are not watched, nothing makes it go blind."""

import asyncio
import shutil
from pathlib import Path

from kpd.workspace.run_files import write_atomic
from tests.support.daemon.watched import PATIENCE_S, Watched, watched

__all__ = ["watched"]


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


async def test_of_deployments_only_the_journals_are_told(watched: Watched) -> None:
    folder = watched.workspace.deployments / "p"
    (folder / "0001.agent" / "01" / "tree").mkdir(parents=True)
    (folder / "0001.jsonl").write_text("{}\n")
    told = set[str]().union(*await watched.edit())
    assert {"deployments", "deployments/p/0001.jsonl"} <= told <= {
        "deployments", "deployments/p", "deployments/p/0001.jsonl"
    }  # fmt: skip
    for name in ("0001.agent/01/tree/kernel.c", "0001.agent/01/tree/0002.jsonl", "r1.output", "0001.diff"):
        (folder / name).write_text("x")
    assert await watched.edit() == []
    (folder / "0002.jsonl").write_text("{}\n")
    assert await watched.edit() == [{"deployments/p/0002.jsonl"}]


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
