"""A driver is compiled once for a host: what later harnesses are linked with, and what nobody can put in its place."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path, PurePosixPath

import pytest

from kpd.hosts.host import Host, JobResult
from kpd.hosts.local import Local
from kpd.measure import jobs, seals
from kpd.measure.driver.linking import PROGRAM, Driver, link
from kpd.measure.run_context import RunContext

COMPILED = 'cc -nostdlib -r -o "$driver"'
SOURCES = {
    "kpd/task.h": b"int answer(void);\n",
    "kpd/main.c": b'#include <stdio.h>\n#include "task.h"\nint main(void) { printf("%d\\n", answer()); return 0; }\n',
}
DRIVER = Driver(SOURCES, f"{COMPILED} kpd/main.c", "driver.o")
LINKED = f'cc -Ikpd task.c "$driver" -o "$out/{PROGRAM}"'


class Meddled(Host):
    """A host on which somebody may change a driver right after its job."""

    meddled = False

    async def read(self, path: str, limit: int) -> bytes:
        if self.meddled and path.endswith(DRIVER.file):
            spoil(Path(path))
        return await super().read(path, limit)


def spoil(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.fixture(name="host")
async def _host(tmp_path: Path) -> AsyncIterator[Meddled]:
    """A host whose name no other test has, so that nobody has compiled its driver."""
    host = Meddled(str(tmp_path), PurePosixPath(tmp_path / "host"), Local())
    await host.connect()
    yield host
    await host.close()


async def made(host: Host, answer: int, driver: Driver = DRIVER) -> JobResult:
    task = {"task.c": b'#include "task.h"\nint answer(void) { return %d; }\n' % answer}
    result = await link(host, "cc", driver, task, LINKED, 20.0, None, RunContext())
    assert result.stdout.startswith(b"%d\n" % answer)
    return result


def staged(host: Host) -> list[Path]:
    return [path for path in Path(host.root).glob("trees/*/kpd/*") if path.name == DRIVER.file]


def compiled(host: Host, result: JobResult) -> bool:
    return COMPILED in Path(host.root, "jobs", result.id, "cmd").read_text()


def left(host: Host, result: JobResult) -> Mapping[str, str]:
    assert [path.name for path in Path(jobs.out(host, result.id, "")).iterdir()] == [PROGRAM]
    return seals.taken(result.stdout)


async def test_a_second_harness_is_linked_and_is_what_it_would_be_if_all_were_compiled(host: Meddled) -> None:
    first = await made(host, 1)
    assert compiled(host, first)
    assert not compiled(host, await made(host, 2))
    await host.forget(first.id)
    again = await made(host, 1)
    assert not compiled(host, again)
    assert (again.id, left(host, again)) == (first.id, left(host, first))


async def test_a_harness_that_is_there_is_not_made_again_and_nothing_is_learnt_from_it(host: Meddled) -> None:
    """Its job may be an earlier daemon's, after which anybody may have changed the files beside it."""
    first = await made(host, 1)
    host.boot += b" again"
    assert (await made(host, 1)).cached
    assert compiled(host, await made(host, 2))
    assert (await made(host, 1)).stdout == first.stdout


async def test_a_restarted_host_and_other_sources_have_a_driver_of_their_own(host: Meddled) -> None:
    await made(host, 1)
    host.boot += b" again"
    assert compiled(host, await made(host, 2))
    changed = {**SOURCES, "kpd/main.c": SOURCES["kpd/main.c"] + b"\n"}
    assert compiled(host, await made(host, 3, Driver(changed, DRIVER.command, DRIVER.file)))


async def test_a_driver_that_was_changed_before_it_could_be_read_is_not_used(host: Meddled) -> None:
    host.meddled = True
    await made(host, 1)
    host.meddled = False
    assert compiled(host, await made(host, 2))
    assert not compiled(host, await made(host, 3))


async def test_a_driver_that_was_changed_on_the_host_is_not_linked(host: Meddled) -> None:
    await made(host, 1)
    first = await made(host, 2)
    await host.forget(first.id)
    assert staged(host)
    for path in staged(host):
        spoil(path)
    again = await made(host, 2)
    assert not compiled(host, again)
    assert left(host, again) == left(host, first)


async def test_a_task_that_changes_the_driver_beside_it_changes_no_other_tasks(host: Meddled) -> None:
    """Its program runs in the job that has compiled the driver, and prints what it likes."""
    task = b"""
#include <stdio.h>
#include "task.h"
int answer(void) {
    FILE *beside = fopen(DRIVER, "a");
    if (beside) fputs("more", beside), fclose(beside);
    return beside ? 7 : 8;
}
"""
    command = LINKED.replace("cc ", 'cc -DDRIVER="\\"$driver\\"" ')
    files = {"task.c": task}
    meddles = await link(host, "cc", DRIVER, files, command, 20.0, None, RunContext())
    assert meddles.stdout.startswith(b"7\n")
    assert compiled(host, meddles)
    assert compiled(host, await made(host, 2)), "what was changed was not taken"
