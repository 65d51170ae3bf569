"""A project's files, changed and restored on a real host."""

import asyncio
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
from kpd.production.program import PlaceError
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
        assert (seen.change.state, seen.change.why, seen.switch) == ("restored", "asked", seen.switch)
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


async def test_what_the_build_touches_besides_is_told(tmp_path: Path) -> None:
    root = tmp_path / "prover"
    project = made(root, build=f"echo more >> notes.txt; {BUILD}")
    async with place_at(project, tmp_path) as place, place.changing("to see") as change:
        await change.build()
        assert change.record.touched == ("notes.txt",)


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
