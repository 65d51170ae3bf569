"""The hashes of what was built: a shell that compares them, and jobs that refuse what has changed."""

import hashlib
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.hosts.errors import HostError, LostBuild
from kpd.measure import jobs, seals
from kpd.measure.build_cache import BuildCache
from kpd.measure.driver.check import check
from kpd.measure.driver.harness import OBJECT
from tests.support.measure.measured import QUICK, RIGHT, Lab, lab

pytestmark = pytest.mark.asyncio(loop_scope="module")
GONE, FINE = jobs.GONE, 0


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory):
    async with lab(tmp_path_factory.mktemp("seals")) as ready:
        yield ready


def sealed(folder: Path) -> dict[str, dict[str, str]]:
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    return {str(folder): hashes}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    built = tmp_path / "it's built"
    built.mkdir()
    for name in ("kernel.so", "copy0.o", "copy10.o"):
        (built / name).write_text(name)
    return built


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def ran(known: dict[str, dict[str, str]], then: str = ":") -> tuple[int, str]:
    done = subprocess.run(
        ["sh", "-c", f"{seals.guard(known, GONE)}{then}"], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr.strip()


async def test_files_as_they_were_built_pass(folder: Path) -> None:
    assert ran(sealed(folder)) == (FINE, "")


async def test_nothing_to_compare_is_no_script() -> None:
    assert seals.guard({}, GONE) == seals.guard({"/folder": {}}, GONE) == ""


async def test_a_changed_file_is_named(folder: Path) -> None:
    known = sealed(folder)
    (folder / "copy10.o").write_text("copy1O.o")
    assert ran(known) == (seals.STALE, str(folder / "copy10.o"))


async def test_a_missing_file_is_gone(folder: Path) -> None:
    known = sealed(folder)
    (folder / "copy0.o").unlink()
    assert ran(known) == (GONE, str(folder / "copy0.o"))


async def test_an_added_file_is_told_by_its_folder(folder: Path) -> None:
    known = sealed(folder)
    (folder / "copy11.o").write_text("more")
    assert ran(known) == (seals.STALE, str(folder))


async def test_what_changes_after_the_first_look_is_told_apart(folder: Path) -> None:
    known = sealed(folder)
    assert ran(known, f"echo more >> {shlex.quote(str(folder))}/copy0.o; {seals.UNCHANGED}") == (
        seals.CHANGED, str(folder / "copy0.o"),
    )  # fmt: skip


async def test_a_build_tells_the_hashes_of_all_that_it_left(lab: Lab) -> None:
    built = await lab.build(RIGHT)
    left = Path(jobs.out(lab.host, built.job, ""))
    assert {str(left): dict(built.hashes)} == sealed(left)
    assert OBJECT in built.hashes
    assert built.made
    again = await lab.build(RIGHT)
    assert again.hashes == built.hashes
    assert not again.made
    program = Path(lab.harness.program).parent
    assert {str(program): dict(lab.harness.hashes)} == sealed(program)


async def test_a_job_refuses_an_object_that_is_not_what_was_built(lab: Lab) -> None:
    built = await lab.build(RIGHT, "-O1")
    known = {str(Path(jobs.out(lab.host, built.job, ""))): built.hashes}
    where = replace(lab.where, seals=known)
    assert (await check(lab.host, lab.harness, built.job, "sealed", QUICK, where)).worst < 1
    append(Path(jobs.out(lab.host, built.job, OBJECT)))
    with pytest.raises(HostError, match=rf"{OBJECT} is not what was built") as refused:
        await check(lab.host, lab.harness, built.job, "changed", QUICK, where)
    assert isinstance(refused.value, LostBuild)
    assert (refused.value.kind, refused.value.built) == ("stale", built.job)
    assert "build it again" in refused.value.remedy


async def test_all_that_a_changed_file_stood_beside_is_built_again(lab: Lab) -> None:
    built = await lab.build(RIGHT, "-O1", "-g")
    folder = Path(jobs.out(lab.host, built.job, ""))
    with pytest.raises(HostError):
        async with BuildCache(lab.host).again_if_gone(seals={str(folder): built.hashes}):
            raise LostBuild("corrupt", lab.host.name, str(folder / OBJECT))
    assert (await lab.build(RIGHT, "-O1", "-g")).made
