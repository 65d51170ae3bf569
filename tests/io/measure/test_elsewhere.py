"""A candidate that is built on another host than the one that measures it, and one that cannot be."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.job import JobResult, prepared_on
from kpd.measure import elsewhere, jobs, seals
from kpd.measure.elsewhere import Builds
from kpd.measure.run_context import RunContext
from tests.support.hosts.local import helper_pid, host_at, processes_of, until

SAME = "gcc 12 on an EPYC"
FILES = {"source": b"int x;\n"}


@pytest.fixture
async def measures(tmp_path: Path) -> AsyncIterator[Host]:
    async with host_at(tmp_path / "measures") as host, host_at(tmp_path / "builds") as builder:
        builder.name = "builds"
        host.builder = builder
        yield host


async def build(
    host: Host, script: str, identity: str = SAME, limit_s: float = 30.0
) -> tuple[JobResult, list[str], list[str]]:
    """Return the result of a build, the hosts that its script ran on, and what was said."""
    at, said = [], []

    def text(where: Host) -> str:
        at.append(where.name)
        return f'out="$PWD/out"\n{script}\n{seals.TAKE}'

    builds = Builds(host, RunContext(), SAME, lambda facts: identity)
    return await builds.run("build-1", text, FILES, limit_s, said.append), at, said


async def test_what_was_built_elsewhere_is_as_if_it_had_been_built_here(measures: Host) -> None:
    result, at, said = await build(measures, 'printf made >"$out/object"; echo warning: odd >&2')
    assert at == ["builds"] and said == ["warning: odd\n"] and result.stderr == b"warning: odd\n" and not result.cached
    assert await measures.read(jobs.out(measures, "build-1", "object"), 99) == b"made"
    again, _, _ = await build(measures, "exit 1")
    assert again.cached and seals.taken(again.stdout) == seals.taken(result.stdout)
    assert measures.builder is not None
    await measures.builder.close()
    measures.builder = None
    here, _, _ = await build(measures, "exit 1")
    assert here.cached and here.stderr == b"warning: odd\n" and seals.taken(here.stdout) == seals.taken(result.stdout)


async def test_a_candidate_that_does_not_build_is_not_built_again_here(measures: Host) -> None:
    result, at, _ = await build(measures, "echo error: no >&2; exit 1")
    assert (result.rc, result.stderr, at) == (1, b"error: no\n", ["builds"])


async def test_another_compiler_or_none_or_too_much_to_bring_has_it_built_where_it_is_measured(
    measures: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, at, said = await build(measures, 'echo made >"$out/object"', identity="gcc 12 on a Xeon")
    assert at == ["local"] and result.rc == 0 and "another compiler or CPU" in said[0]
    await measures.forget("build-1")
    monkeypatch.setattr(elsewhere, "LIMIT", 3)
    _, at, said = await build(measures, 'echo made >"$out/object"')
    assert at == ["builds", "local"] and said[-1].startswith("built where it is measured: ")
    await measures.forget("build-1")
    assert measures.builder is not None
    await measures.builder.close()
    _, at, said = await build(measures, 'echo made >"$out/object"')
    assert at == ["local"] and said == ["built where it is measured: builds is not there\n"]


async def test_a_builder_that_goes_in_the_middle_has_it_built_where_it_is_measured(measures: Host) -> None:
    builder = measures.builder
    assert builder is not None
    link = await builder.linked()

    async def cut() -> None:
        await until(lambda: (Path(builder.root) / "jobs/build-1/alive").exists())
        await link.close()

    cutting = asyncio.create_task(cut())
    slow = 'case "$PWD" in */builds/*) sleep 20 ;; esac; echo made >"$out/object"'
    _, at, said = await build(measures, slow)
    await cutting
    assert at == ["builds", "local"] and said[-1] == "built where it is measured: builds is not there\n"


@pytest.mark.parametrize("lacks", ["exit 127", "echo odd.h: No such file or directory >&2; exit 1", "sleep 60"])
async def test_what_a_builder_lacks_another_file_memory_or_time_for_is_built_where_it_is_measured(
    measures: Host, lacks: str
) -> None:
    result, at, said = await build(
        measures, f'case "$PWD" in */builds/*) {lacks} ;; esac; echo >"$out/object"', limit_s=2
    )
    assert (result.rc, at) == (0, ["builds", "local"]) and "builds lacks a file, memory or time for it" in said[-1]


async def test_a_builder_that_hangs_has_it_built_where_it_is_measured(
    measures: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "BROUGHT_S", 8.0)  # for the probe, too
    builder, stopped = measures.builder, []
    assert builder is not None

    async def stop() -> None:
        await until(lambda: (Path(builder.root) / "jobs/build-1/alive").exists())
        for process in processes_of(builder.root):
            if process.pid != helper_pid(builder):
                process.suspend()
                stopped.append(process)

    stopping = asyncio.create_task(stop())
    slow = 'case "$PWD" in */builds/*) sleep 60 ;; esac; echo made >"$out/object"'
    result, at, said = await build(measures, slow, limit_s=2)
    await stopping
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.resume()
    assert stopped and (result.rc, at) == (0, ["builds", "local"])
    assert said[-1] == "built where it is measured: builds does not answer in time\n"


async def test_what_was_prepared_on_one_machine_is_not_run_on_another(measures: Host) -> None:
    prepared_on.set(("local", measures.machine + 1))
    with pytest.raises(HostError, match="another machine now"):
        await jobs.run(measures, RunContext().spec("check-1", "true", 9.0))
    prepared_on.set(("other", measures.machine + 1))
    assert (await jobs.run(measures, RunContext().spec("check-1", "true", 9.0))).rc == 0
    prepared_on.set(None)
