"""A project's files, changed and restored on a real host."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from kpd.production.far.record import PlaceFolder
from kpd.production.program import PlaceError
from kpd.text.projects import status_lines
from tests.support.hosts.local import until
from tests.support.hosts.ssh import host_by, ssh_to
from tests.support.hosts.sshd import sshd
from tests.support.production.provers import (
    BUILD,
    FASTER,
    SOURCE,
    FarSide,
    built,
    content,
    made,
    place_at,
    place_on,
)


async def test_a_change_that_is_not_committed_is_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    project = made(root)
    (root / "src" / "kernel.c").chmod(0o640)
    async with place_at(project, tmp_path) as place:
        async with place.changing("to see") as change:
            await change.put("src/kernel.c", FASTER)
            assert (await change.build()).rc == 0
            assert content(root) == built(FASTER)
            seen = await place.status()
            assert (seen.change.state, seen.switch, set(seen.now.values())) == ("open", True, {"kpd"})
        assert content(root) == built(SOURCE)
        seen = await place.status()
        assert (seen.change.state, seen.change.why) == ("restored", "asked")
        assert (root / "src" / "kernel.c").stat().st_mode & 0o777 == 0o640
        assert (root / "target" / "prover").stat().st_mode & 0o777 == 0o755
        assert sorted(path.name for path in root.rglob("*")) == ["kernel.c", "notes.txt", "prover", "src", "target"]


async def test_a_committed_change_stays_and_the_next_one_starts_from_it(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    async with place_at(made(root), tmp_path) as place:
        async with place.changing("to keep") as change:
            await change.put("src/kernel.c", FASTER)
            await change.build()
            await change.commit()
        assert content(root) == built(FASTER)
        async with place.changing("to see") as change:
            await change.put("src/kernel.c", b"broken\n")
        assert content(root) == built(FASTER)
        assert (await place.restore()).state == "restored"
        assert content(root) == built(FASTER)


async def test_nothing_of_others_is_overwritten(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    async with place_at(made(root), tmp_path) as place:
        async with place.changing("to see") as change:
            await change.put("src/kernel.c", FASTER)
            await change.build()
            (root / "src" / "kernel.c").write_bytes(b"somebody's\n")
            with pytest.raises(PlaceError) as caught:
                await change.put("src/kernel.c", FASTER)
            assert caught.value.kind == "changed"
            with pytest.raises(PlaceError):
                await change.commit()
            assert (await change.build()).rc != 0
        assert change.record.conflicts == ("src/kernel.c",)
        assert content(root) == (b"somebody's\n", built(SOURCE)[1])
        assert (await place.status()).now == {"target/prover": "original", "src/kernel.c": "other"}


async def test_two_do_not_change_one_file(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    project = made(root)
    around = replace(project, root=str(tmp_path), files=("prover/src/kernel.c",), binary=("prover/target/prover",))
    async with place_at(project, tmp_path) as place:
        async with place.changing("the first"):
            for other in (project, around):
                with pytest.raises(PlaceError, match=r"the first|changes .*prover") as caught:
                    async with place_on(place.host, other, tmp_path).changing("the second"):
                        pass
                assert caught.value.kind == "taken"
        async with place_on(place.host, around, tmp_path).changing("the second") as change:
            await change.put("prover/src/kernel.c", FASTER)
        assert content(root) == built(SOURCE)


async def test_when_nobody_renews_the_lease_the_host_ends_the_build_and_restores(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    sleeper = "echo half > target/prover; setsid sleep 301 & echo $! > target/pid; wait"
    project = made(root, build=sleeper)
    async with place_at(project, tmp_path) as place:
        async with place.changing("to see") as change:
            await change.put("src/kernel.c", FASTER)
            building = asyncio.create_task(change.build())
            await until((root / "target" / "pid").exists)
            sleep = int((root / "target" / "pid").read_text())
            FarSide(project, tmp_path).ask("renew", id=change.record.id, lease_s=0.2)
            await until(lambda: content(root) == built(SOURCE))
            assert (await building).reason in ("killed", "lost")
            assert not psutil.pid_exists(sleep)
            with pytest.raises(PlaceError) as caught:
                await change.put("src/kernel.c", FASTER)
            assert caught.value.kind == "ended"
        seen = await place.status()
        assert (seen.change.state, seen.change.why, content(root)) == ("restored", "lease", built(SOURCE))


async def test_a_later_build_takes_nothing_of_the_candidate(tmp_path: Path) -> None:
    """A build that goes by times must see that the sources are not those of its last run."""
    root = tmp_path / "prover"
    build = f"[ target/prover -nt src/kernel.c ] || {{ {BUILD}; }}"
    async with place_at(made(root, build=build), tmp_path) as place:
        async with place.changing("to see") as change:
            await change.put("src/kernel.c", FASTER)
            await change.build()
        assert (root / "src/kernel.c").stat().st_mtime_ns > (root / "target/prover").stat().st_mtime_ns


async def test_sources_stay_beside_a_binary_that_somebody_has_built_of_them(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    binary = root / "target" / "prover"
    async with place_at(made(root), tmp_path) as place:
        async with place.changing("to see") as change:
            await change.put("src/kernel.c", FASTER)
            binary.write_bytes(built(FASTER)[1])  # by hand, not by kpd
        assert (change.record.state, change.record.conflicts) == ("blocked", ("target/prover",))
        assert content(root) == built(FASTER)
        assert "NOT RESTORED" in status_lines(await place.status())[0]
        with pytest.raises(PlaceError, match="move it away"):
            async with place.changing("the next"):
                pass
        binary.rename(root / "target" / "theirs")
        restored = await place.restore()
        assert restored is not None and (restored.state, restored.conflicts) == ("restored", ())
        assert content(root) == built(SOURCE)


async def test_a_build_that_leaves_a_link_is_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    other = root / "target" / "other"
    project = made(root, build="cp src/kernel.c target/other; ln -sf other target/prover")
    async with place_at(project, tmp_path) as place:
        async with place.changing("to see") as change:
            await change.put("src/kernel.c", FASTER)
            await change.build()
            with pytest.raises(HostError, match="link"):
                await change.commit()
        assert (change.record.conflicts, content(root), other.read_bytes()) == ((), built(SOURCE), FASTER)
        assert not (root / "target" / "prover").is_symlink()


def switches(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if str(folder / "places") in " ".join(process.cmdline()) and process.cwd() == "/":
                found.append(process)
    return found


async def test_a_switch_that_was_killed_is_started_again_for_a_build_and_outlives_it(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    project = made(root, build="echo half > target/prover; sleep 301 & echo $! > target/pid; wait")
    async with place_at(project, tmp_path) as place, place.changing("to see") as change:
        await change.put("src/kernel.c", FASTER)
        for process in switches(tmp_path):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        building = asyncio.create_task(change.build())
        await until((root / "target" / "pid").exists)
        far = PlaceFolder(tmp_path / "places", root)
        far.hold(change.record.id, 0)  # as when nobody has renewed it
        await until(lambda: content(root) == built(SOURCE))
        assert (await building).reason in ("killed", "lost")
        assert (await place.status()).change.state == "restored"


async def test_a_build_is_ended_though_the_mark_cannot_be_written(tmp_path: Path) -> None:
    """As on a disk that the build has filled."""
    root = tmp_path / "prover"
    project = made(root, build="sleep 301 & echo $! > target/pid; wait")
    async with place_at(project, tmp_path) as place, place.changing("to see") as change:
        building = asyncio.create_task(change.build())
        await until((root / "target" / "pid").exists)
        sleep = int((root / "target" / "pid").read_text())
        far = PlaceFolder(tmp_path / "places", root)
        blocker = far.folder / "change.json.new"
        blocker.mkdir()
        far.hold(change.record.id, 0)
        await until(lambda: not psutil.pid_exists(sleep))
        blocker.rmdir()
        await building


async def test_half_a_line_of_history_blocks_nothing(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    async with place_at(made(root), tmp_path) as place:
        for at in range(3):
            async with place.changing(f"change {at}"):
                pass
            history = Path((await place.status()).folder) / "history.jsonl"
            with history.open("a") as file:
                file.write('{"id": "half')
        async with place.changing("the last"):
            pass
        rows = [json.loads(row)["purpose"] for row in history.read_text().splitlines()]
        assert rows == ["change 0", "change 1", "change 2"]


async def test_what_the_build_touches_besides_is_told(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    project = made(root, build=f"echo more >> notes.txt; {BUILD}")
    async with place_at(project, tmp_path) as place, place.changing("to see") as change:
        await change.build()
        assert change.record.touched == ("notes.txt",)
    project = replace(project, build_dir=".")  # it may write anywhere
    async with place_at(project, tmp_path) as place, place.changing("to see") as change:
        await change.build()
        assert change.record.touched == ()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda root: (root / "src/kernel.c").unlink(), "no file"),
        (lambda root: ((root / "src/kernel.c").unlink(), (root / "src/kernel.c").symlink_to("/etc/passwd")), "link"),
        (lambda root: ((root / "src").rename(root / "s"), (root / "src").symlink_to("s")), "link"),
        (lambda root: ((root / "src/kernel.c").unlink(), os.mkfifo(root / "src/kernel.c")), "regular"),
        (lambda root: shutil.rmtree(root), "no folder"),
    ],
)
async def test_what_could_not_be_restored_is_not_begun(
    spoil: Callable[[Path], object], says: str, tmp_path: Path
) -> None:
    root = tmp_path / "prover"
    project = made(root)
    spoil(root)
    async with place_at(project, tmp_path) as place:
        with pytest.raises(HostError, match=says):
            async with place.changing("to see"):
                pass
        assert (await place.status()).change is None


async def test_without_kpd_the_originals_come_back_by_hand(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    project = made(root)
    async with place_at(project, tmp_path) as place, place.changing("to see") as change:
        await change.put("src/kernel.c", FASTER)
        folder = (await place.status()).folder
        asked = json.dumps({"root": str(root), "places": place.program.places})
        command = ["python3", f"{folder}/program", "restore", asked]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True)
        assert json.loads(done.stdout)["ok"]["change"]["state"] == "restored"
        assert content(root) == built(SOURCE)


async def test_over_ssh(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    project = made(root)
    with sshd(tmp_path / "far") as server:
        async with host_by(ssh_to(server), tmp_path / "host") as host:
            async with place_on(host, project, tmp_path).changing("to see") as change:
                await change.put("src/kernel.c", FASTER)
                assert (await change.build()).rc == 0
                assert content(root) == built(FASTER)
            assert content(root) == built(SOURCE)


async def test_a_source_is_read_whole_however_large_it_is(tmp_path: Path) -> None:
    large = SOURCE + b"// " + b"x" * (3 << 19) + b"\n"
    async with place_at(made(tmp_path / "program", large), tmp_path) as place:
        assert await place.source("src/kernel.c") == large
